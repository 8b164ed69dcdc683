import { constants, copyFileSync, existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout } from 'node:timers/promises';
import type { CreditIssuer } from '@sotto/wire';
import { readOrigin } from '../origin.ts';
import type { ClientPins } from '../pins/client-pins.ts';
import { readRelay, requireTlsThrough } from '../platform/relay.ts';
import { readSigningKey } from '../purse/blind-rsa.ts';
import {
  CreditRefusal,
  type CreditService,
  creditService,
  PurseError,
  type WalletOrder,
} from '../purse/credit-service.ts';
import { Purse } from '../purse/purse.ts';
import { usingFile } from '../purse/purse-file.ts';
import { Schedule } from '../purse/schedule.ts';
import { usualFirstUseDays, usualLotsAWeek } from '../purse/schedule-times.ts';
import { balanceText, orderText, outgrown, worth } from './purse-texts.ts';
import { asUsage, onlyOne, readPinsFile, required, requiredAddress } from './settings.ts';
import { noFiles, readStep, type Step } from './steps.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

/** What lots of each week cost in a month, such as `$65`. */
const monthly = (lotsAWeek: number): string => `$${Math.round((lotsAWeek * 5 * 52) / 12)}`;
/** The rates of `docs/THREAT_MODEL.md`, which a test compares with it. */
export const shorterWait =
  'Without waiting, an operator who knows all your wallets names 78 % of people among 20 accounts, after up to 7 days 48 %.';

export const purseHelp = `sotto purse: blind credits, which pay for anonymous wallets (\`sotto run --anonymous\`).

  sotto purse                the credits that you have
  sotto purse buy            buy lots of 50 credits ($5): five at once, then some a week at random hours, until you end it. Asks for
                             a code of the billing page, which permits so many lots
  sotto purse pay PACKAGE    pay a wallet by crypto instead, such as usd-10, without an account; says where to pay, and waits
  sotto purse settle         finish one thing that an ended process left: close its wallet, or ask again for a payment whose answer
                             was lost. Says what is left for later
  sotto purse key            print the issuer and its keys that you pin
  sotto purse reuse          use credits that were set aside after a refused deposit
  sotto purse back-up FILE   write a copy
  sotto purse restore FILE   take a copy, if there is no purse

A lost purse is lost money. Whoever has a copy has the credits in it. Do each step at a time of its own: what you do within minutes
can be linked.

Of each step but \`key\`:
  --purse FILE         the purse (default: ~/.sotto/purse)

Of \`buy\`, \`pay\` and \`settle\`:
  --control-url URL    the control origin (default: the variable CONTROL_URL)
  --relay URL          a SOCKS5 proxy that somebody else runs: socks5://host:port (Tor: socks5://127.0.0.1:9050)
  --pins FILE          the issuer's keys, in \`credits\`, also of \`key\` (default: those that this build ships with)

Of \`buy\`:
  --lots-a-week N      the lots after the first five (default: ${usualLotsAWeek}, which cost ${monthly(usualLotsAWeek)} a month)
  --first-use-days N   the most days that the first credits wait, at random (default: ${usualFirstUseDays}). ${shorterWait}
  --schedule FILE      the code and the times (default: ~/.sotto/schedule). Keep it apart from the purse: it names your account

\`buy\` asks again each minute for a paid lot whose answer was lost. After an hour without one, it waits for a random time of the next seven
days, so that nobody learns when your machine wakes. Let it run, with a connection, and it waits minutes.

Exit codes: 0 done; 1 refused, or not yet; 2 wrong command line; 3 no connection.
`;

/** Options of the commands that can use a purse, as `parseArgs` takes them. */
export const anonymousOptions = { anonymous: { type: 'boolean' }, purse: { type: 'string' } } as const;

export const anonymousHelp = `  --anonymous          pay with \`sotto purse\` and no account: a paid wallet or, of credits, a new one for this run, for a day at most.
                       Needs --relay with socks5, and neither INFERENCE_KEY, MANAGEMENT_KEY nor --key-file
  --purse FILE         the purse (default: ~/.sotto/purse)`;

const options = {
  'control-url': { type: 'string' },
  relay: { type: 'string' },
  pins: { type: 'string' },
  purse: { type: 'string' },
  schedule: { type: 'string' },
  'lots-a-week': { type: 'string' },
  'first-use-days': { type: 'string' },
} as const;

type PurseValues = { readonly [Option in keyof typeof options]?: string | undefined };

/** A purse with the way to its issuer. */
export interface OpenPurse {
  readonly purse: Purse;
  readonly service: CreditService;
  readonly issuer: CreditIssuer;
}

const openPurse = ({ environment, userId }: Terminal, file: string | undefined): Promise<Purse> =>
  Purse.open({ file: file ?? defaultFile(environment), userId });

const defaultFile = (environment: Terminal['environment'], name = 'purse'): string =>
  join(environment.HOME ?? homedir(), '.sotto', name);

const issuerOf = ({ credits }: ClientPins): CreditIssuer => {
  if (credits === undefined)
    throw new UsageError('The pins have no `credits`: no issuer whose keys to accept. Pass --pins.');
  return credits;
};

/** Reads what every step needs that reaches the service, and opens the purse. */
async function purseOf(terminal: Terminal, values: PurseValues): Promise<OpenPurse> {
  const issuer = issuerOf(readPinsFile(values.pins));
  const { origin } = asUsage(() =>
    readOrigin('--control-url', requiredAddress(terminal, '--control-url', values['control-url'])),
  );
  const address = required('--relay', values.relay, 'Without a relay, the service sees who you are.');
  const relay = asUsage(() => readRelay(address, terminal.relaysPlainHttp));
  asUsage(() => requireTlsThrough(relay, origin));
  if (relay.kind !== 'socks5' || relay.user !== undefined)
    throw new UsageError(
      '--relay must be socks5://host:port without a user: each connection shows another one, to be apart from the rest.',
    );
  return { purse: await openPurse(terminal, values.purse), service: creditService({ origin, relay }), issuer };
}

/** A wallet for one run. */
export interface AnonymousRun {
  /** The wallet's key. It works after `deposit`. */
  readonly key: string;
  deposit(): Promise<void>;
  /** Gives the credits back if they were never offered, or closes the wallet. */
  leave(): Promise<void>;
}

/** Takes a wallet for this run. The account's key must be nowhere near: not in the environment, not in a file. */
export async function takeAnonymously(
  terminal: Terminal,
  values: PurseValues & { readonly 'key-file'?: string | undefined },
): Promise<AnonymousRun> {
  const { environment } = terminal;
  const known = ['INFERENCE_KEY', 'MANAGEMENT_KEY'].find((name) => environment[name] !== undefined);
  if (known !== undefined || values['key-file'] !== undefined)
    throw new UsageError(
      `--anonymous refuses ${known ?? '--key-file'}: a key of your account must not be in this process. Unset it.`,
    );
  const { purse, service, issuer } = await purseOf(terminal, values);
  const { id, key } = purse.takeWallet();
  const { ready, resting } = purse.balance();
  if (ready + resting < 50) terminal.note(`${outgrown}\n`);
  let isOpen = false;
  return {
    key,
    async deposit() {
      await purse.deposit(service, { id });
      isOpen = true;
    },
    async leave() {
      try {
        // A deposit of unknown outcome stays as it is, for `settle`.
        if (!isOpen) return purse.release(id);
        const back = await closeInTime(() => purse.closeWallet(service, issuer, id));
        terminal.note(`The wallet is closed: ${back} credits (${worth(back)}) came back.\n`);
      } catch (error) {
        const reason = error instanceof Error ? printableLine(error.message) : 'it failed';
        terminal.note(`The wallet is not closed: ${reason} Run \`sotto purse settle\` later.\n`);
      } finally {
        purse.close();
      }
    },
  };
}

const closeEveryMs = 2_000;
const closeTries = 15;

/** Tries to close a wallet until its last requests are booked. */
async function closeInTime<T>(close: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await close();
    } catch (error) {
      if (!(error instanceof CreditRefusal) || !error.isPassing || tries === closeTries) throw error;
      await setTimeout(closeEveryMs);
    }
  }
}

interface PurseStep extends Step<keyof typeof options> {
  /** The word after the step, which it needs. */
  readonly word?: string;
  readonly run: (terminal: Terminal, values: PurseValues, word: string) => Promise<void> | void;
}

const ofService = ['control-url', 'relay', 'pins', 'purse'] as const;
const steps: ReadonlyMap<string, PurseStep> = new Map<string, PurseStep>([
  ['balance', { takes: ['purse'], run: (terminal, values) => inPurse(terminal, values, () => {}) }],
  ['buy', { takes: [...ofService, 'schedule', 'lots-a-week', 'first-use-days'], run: buy }],
  [
    'pay',
    {
      ...{ takes: ofService, word: 'PACKAGE' },
      run: (terminal, values, word) => atService(terminal, values, (opened) => pay(terminal, opened, word)),
    },
  ],
  ['settle', { takes: ofService, run: settle }],
  ['key', { takes: ['pins'], run: printKeys }],
  [
    'reuse',
    {
      takes: ['purse'],
      run: (terminal, values) =>
        inPurse(terminal, values, (purse) => terminal.note(`${purse.reuse()} credits are usable again.\n`)),
    },
  ],
  [
    'back-up',
    {
      ...{ takes: ['purse'], word: 'FILE' },
      run: (terminal, values, file) => inPurse(terminal, values, (purse) => purse.backUp(file)),
    },
  ],
  ['restore', { takes: ['purse'], word: 'FILE', run: restore }],
]);

/** Runs `sotto purse`. */
export async function purseCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { step, values, files } = readStep('purse', args, { options, steps, otherwise: 'balance' });
  if (step.word === undefined) noFiles(files);
  await step.run(terminal, values, step.word === undefined ? '' : onlyOne(step.word, files));
  return 0;
}

/** Works in the purse, and says what is in it afterwards. */
async function inPurse(terminal: Terminal, values: PurseValues, work: (purse: Purse) => void): Promise<void> {
  const purse = await openPurse(terminal, values.purse);
  try {
    work(purse);
    terminal.out(balanceText(purse));
  } finally {
    purse.close();
  }
}

/** The same with the service. */
async function atService(
  terminal: Terminal,
  values: PurseValues,
  work: (opened: OpenPurse) => Promise<void>,
): Promise<void> {
  const opened = await purseOf(terminal, values);
  try {
    await work(opened);
    terminal.out(balanceText(opened.purse));
  } finally {
    opened.purse.close();
  }
}

function settle(terminal: Terminal, values: PurseValues): Promise<void> {
  return atService(terminal, values, ({ purse, service, issuer }) =>
    purse.settle(service, issuer, (order) => terminal.out(orderText(order))),
  );
}

function printKeys(terminal: Terminal, values: PurseValues): void {
  const { issuer, keys } = issuerOf(readPinsFile(values.pins));
  const ids = keys.map(
    ({ year, key }) => `${year} ${readSigningKey(Buffer.from(key, 'base64url'))?.keyId ?? 'not usable'}\n`,
  );
  terminal.out(
    `${issuer}\n${ids.join('')}Compare them with somebody who uses another connection. What the service shows you proves nothing.\n`,
  );
}

async function restore(terminal: Terminal, values: PurseValues, file: string): Promise<void> {
  const to = values.purse ?? defaultFile(terminal.environment);
  const size = usingFile(file, () => statSync(file, { throwIfNoEntry: false })?.size);
  if (size === undefined) throw new UsageError(`There is no file ${file}.`);
  if (size === 0) throw new UsageError(`${file} is empty.`);
  if (existsSync(to)) throw new UsageError(`There is a purse at ${to}. Move it away first.`);
  (await openPurse(terminal, file)).close();
  (await openPurse(terminal, to)).close();
  usingFile(to, () => copyFileSync(file, to, constants.COPYFILE_FICLONE));
  terminal.note('Credits that were spent since the copy was made are refused when you use them.\n');
  await inPurse(terminal, values, () => {});
}

const retryEveryMs = 60_000;
const lostAnswer =
  'The answer to a lot is missing, which may be paid. It is asked for each minute or, after an hour without one, within seven days.';

interface AskedPace {
  readonly lotsAWeek: number | undefined;
  readonly firstUseDays: number;
}

function buy(terminal: Terminal, values: PurseValues): Promise<void> {
  const asked = {
    lotsAWeek: countOf(values, 'lots-a-week'),
    firstUseDays: countOf(values, 'first-use-days') ?? usualFirstUseDays,
  };
  return atService(terminal, values, (opened) => buyOnSchedule(terminal, values, { ...opened, asked }));
}

/** Buys what the schedule says, until the permission is used up. */
async function buyOnSchedule(
  terminal: Terminal,
  values: PurseValues,
  { purse, service, issuer, asked }: OpenPurse & { readonly asked: AskedPace },
): Promise<void> {
  const { environment, userId } = terminal;
  const file = values.purse ?? defaultFile(environment);
  const scheduleFile = values.schedule ?? defaultFile(environment, 'schedule');
  const schedule = await Schedule.open({ file, scheduleFile, userId });
  try {
    const code = schedule.hasPermission ? undefined : await askCode(terminal, schedule.isWaiting);
    const lotsAWeek = schedule.begin({ code, ...asked });
    terminal.out(
      `${lotsAWeek} lots a week cost about ${monthly(lotsAWeek)} a month. End this with Ctrl-C, and go on later.\n`,
    );
    if (asked.firstUseDays < usualFirstUseDays) terminal.note(`${shorterWait}\n`);
    if (schedule.isWaiting) terminal.note(`${lostAnswer}\n`);
    for (let hasWorked = false; schedule.hasPermission || schedule.isWaiting; hasWorked = true) {
      try {
        const bought = await schedule.buyNext(service, issuer);
        if ('next' in bought) await setTimeout(Math.min(retryEveryMs, Math.max(1_000, bought.next - Date.now())));
        else terminal.note(`A lot is bought. The code permits ${bought.left} more.\n`);
        if ('left' in bought) terminal.out(balanceText(purse));
      } catch (error) {
        if (!hasWorked) throw error;
        terminal.note(`${error instanceof Error ? printableLine(error.message) : 'It failed.'} Trying again later.\n`);
        await setTimeout(retryEveryMs);
      }
    }
    terminal.note('The code permits no more. Make another on the billing page.\n');
  } finally {
    schedule.close();
  }
}

function countOf(values: PurseValues, name: 'lots-a-week' | 'first-use-days'): number | undefined {
  const text = values[name];
  if (text === undefined || /^([0-9]|[12][0-9]|30)$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError(`--${name} must be a whole number from 0 to 30, not ${text}.`);
}

const payEveryMs = 10_000;

/** Orders a wallet, says where to pay it, and asks until it is paid or can be paid no more. */
async function pay(
  terminal: Terminal,
  { purse, service }: Omit<OpenPurse, 'issuer'>,
  packageId: string,
): Promise<void> {
  const id = purse.newOrder(packageId);
  for (let isShown = false; ; await setTimeout(payEveryMs)) {
    let order: WalletOrder | undefined;
    try {
      order = await purse.order(service, id);
    } catch (error) {
      const isPassing = error instanceof CreditRefusal ? error.isPassing : isShown && !(error instanceof PurseError);
      if (isShown && !isPassing) terminal.note('If you paid, run `sotto purse settle` later.\n');
      if (!isPassing) throw error;
      terminal.note(`${error instanceof Error ? printableLine(error.message) : 'It failed.'} Trying again.\n`);
      continue;
    }
    if (order === undefined) return terminal.note('It is paid.\n');
    const isOver = order.status === 'expired' || order.status === 'failed';
    if (isOver)
      throw new PurseError(
        `It was not paid. ${order.problem?.message ?? ''} If you paid, run \`sotto purse settle\` later.`,
      );
    if (!isShown && order.pay_to.length > 0) terminal.out(orderText(order));
    isShown ||= order.pay_to.length > 0;
  }
}

/**
 * Reads the code from the input. It is never an argument: every process list shows arguments. Undefined: there is none, and the answers to
 * earlier purchases can be asked for without.
 */
async function askCode(terminal: Terminal, isWaiting: boolean): Promise<string | undefined> {
  terminal.note(
    isWaiting
      ? 'Code of the billing page (empty: only ask again for lots whose answer was lost): '
      : 'Code of the billing page: ',
  );
  const lines = createInterface({ input: terminal.input });
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  lines.once('close', () => resolve(''));
  lines.once('line', resolve);
  const code = (await closed).trim().toUpperCase();
  lines.close();
  if (/^[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/.test(code)) return code;
  if (isWaiting && code === '') return undefined;
  throw new UsageError('A code has four groups of four letters and digits.');
}
