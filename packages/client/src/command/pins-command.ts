import { existsSync } from 'node:fs';
import type { parseArgs } from 'node:util';
import { timeSchema } from '@sotto/attestation';
import { parseJson } from '@sotto/wire';
import { type ClientPins, problemOfPins } from '../pins/client-pins.ts';
import type { ReleaseLog } from '../pins/pinned-release.ts';
import { OlderRelease, withRelease } from '../pins/pins-with-release.ts';
import { readNoteKey } from '../releases/log/signed-note.ts';
import { isLoggedRelease, readRelease } from '../releases/read-release.ts';
import { type ReleaseCheckName, ReleaseRefusal } from '../releases/refusal.ts';
import { trustedRootDate } from '../releases/trusted-root.ts';
import { explainPins } from './explain-pins.ts';
import { replacingFile } from './replace-file.ts';
import { onlyOne, readPinsFile, readText, required } from './settings.ts';
import { noFiles, readStep, type Step } from './steps.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const pinsHelp = `sotto pins: pin the machines of releases that a public log has. It needs no network.

sotto pins add BUNDLE     verify a release, and add its machines to a file of pins
  --pins FILE          the file, which is created if there is none

For a Sigstore bundle, which a build in a public repository makes:
  --identity TEXT      who must have signed it, exactly, such as
                       https://github.com/OWNER/REPO/.github/workflows/release.yml@refs/tags/v0.2.0
  --issuer URL         who must have vouched for that, such as https://token.actions.githubusercontent.com
  --trusted-root FILE  Sigstore's trusted_root.json (default: that of ${trustedRootDate}, which ships with this build)

For a release in an operator's own log (\`sotto release sign\`):
  --log-key KEY        the log's public key, the first time. Pins keep it
  --witness KEY        a witness that must have cosigned the log, too. Repeat it for more; pins keep them

For both:
  --expires-at TIME    the pins of this release accept no machine from then on, such as 2027-01-31T00:00:00Z
  --allow-older        accept a release that was logged before the newest pinned one

sotto pins show           say of each pin which release it is from, who signed that, and when it was logged
  --pins FILE          the file (default: the pins that this build ships with)

Get a BUNDLE from the project or from the operator's log, never from the service that you are about to check.

Exit codes: 0 added, or shown; 1 the release is refused; 2 wrong command line.
`;

const text = { type: 'string' } as const;
const options = {
  ...{ pins: text, identity: text, issuer: text, 'trusted-root': text, 'log-key': text, 'expires-at': text },
  witness: { type: 'string', multiple: true },
  'allow-older': { type: 'boolean' },
} as const;

type Option = keyof typeof options;
const steps: ReadonlyMap<string, Step<Option> & { readonly adds: boolean }> = new Map([
  ['add', { takes: Object.keys(options) as Option[], adds: true }],
  ['show', { takes: ['pins'], adds: false }],
]);

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

/** Runs `sotto pins add` and `sotto pins show`. `now` is in Unix ms, for tests. */
export async function pinsCommand(
  terminal: Terminal,
  args: readonly string[],
  now: () => number = Date.now,
): Promise<ExitCode> {
  const { step, values, files } = readStep('pins', args, { options, steps });
  if (step.adds) return addRelease(terminal, onlyOne('BUNDLE', files), values, now());
  noFiles(files);
  terminal.out(`${explainPins(readPinsFile(values.pins), now()).join('\n')}\n`);
  return 0;
}

async function addRelease(terminal: Terminal, bundle: string, values: Values, now: number): Promise<ExitCode> {
  if (/^https?:\/\//i.test(bundle)) {
    throw new UsageError(
      'BUNDLE is a file. Download it from the project or the operator’s log, never from the service that you check.',
    );
  }
  const file = required('--pins', values.pins, 'It names the file to add to. A missing file is created.');
  const document = parseJson(readText('BUNDLE', bundle));
  requireOptionsOf(isLoggedRelease(document) ? 'logged' : 'sigstore', values);
  const expiresAt = readExpiry(values['expires-at'], now);
  const signer = signerOption(values);
  const root = values['trusted-root'];
  const trustedRoot = root === undefined ? undefined : (parseJson(readText('--trusted-root', root)) ?? null);
  return replacingFile(file, async (replace) => {
    const old: ClientPins = existsSync(file) ? readPinsFile(file) : { gateway: {} };
    const pins = withLogOf(old, values);
    const reading = await readRelease(document, { signer, trustedRoot, logs: pins.logs, now: new Date(now) });
    try {
      if ('refused' in reading) throw new ReleaseRefusal(reading.refused.check, reading.refused.reason);
      const { pinned } = reading.release;
      const added = withRelease(pins, reading.release, { allowOlder: values['allow-older'] === true, expiresAt });
      const problem = problemOfPins(added);
      if (problem !== undefined) throw new UsageError(`${file} would be invalid with this release: ${problem}.`);
      replace(`${JSON.stringify(added, undefined, 2)}\n`);
      const { tdx, sev_snp } = added.gateway;
      const machines = (tdx?.measurements ?? []).length + (sev_snp?.measurements ?? []).length;
      terminal.note(
        `Added release ${pinned.version}, logged at ${pinned.logged_at} in ${printableLine(pinned.log)}. ${file} pins ${machines} ${machines === 1 ? 'machine' : 'machines'}.\n`,
      );
      return 0;
    } catch (error) {
      if (!(error instanceof ReleaseRefusal)) throw error;
      terminal.note(`Refused: ${error.check}: ${printableLine(error.reason)}.\n${adviceOn(error, root === undefined)}`);
      return 1;
    }
  });
}

/** Options that concern releases of one kind, with what that kind is called. */
const optionsOf = {
  sigstore: { names: ['identity', 'issuer', 'trusted-root'], what: 'a Sigstore bundle' },
  logged: { names: ['log-key', 'witness'], what: "a release in an operator's own log" },
} as const;

/** An option of the other kind would be ignored, or would trust a log that has nothing to do with the release. */
function requireOptionsOf(kind: keyof typeof optionsOf, values: Values): void {
  const other = optionsOf[kind === 'logged' ? 'sigstore' : 'logged'];
  const name = other.names.find((each) => values[each] !== undefined);
  if (name === undefined) return;
  throw new UsageError(
    `--${name} is for ${other.what}, and this file is another kind of release. Leave it out, or check the file.`,
  );
}

function readExpiry(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  if (!timeSchema.safeParse(text).success) {
    throw new UsageError(`--expires-at must be a time in UTC such as 2027-01-31T00:00:00Z; got "${text}".`);
  }
  if (Date.parse(text) > now) return text;
  throw new UsageError(`--expires-at must be in the future; got ${text}. From then on, the pins accept no machine.`);
}

/** Checks that a new log or authority of Sigstore's fails, until the trusted root names it. */
const byTrustedRoot: readonly ReleaseCheckName[] = ['release.certificate', 'release.log_entry', 'release.time'];

function adviceOn(refusal: ReleaseRefusal, isShippedRoot: boolean): string {
  if (refusal instanceof OlderRelease) return 'To pin it anyway, pass --allow-older.\n';
  if (!isShippedRoot || !byTrustedRoot.includes(refusal.check)) return '';
  return `Sigstore's trusted root in this build is of ${trustedRootDate}. If the bundle is newer, it may need a newer one (--trusted-root).\n`;
}

function signerOption({ identity, issuer }: Values): { identity: string; issuer: string } | undefined {
  if (identity === undefined && issuer === undefined) return undefined;
  return {
    identity: required('--identity', identity, 'An issuer vouches for many.'),
    issuer: required('--issuer', issuer, 'Another issuer may vouch for the same name.'),
  };
}

/** The pins with the log of `--log-key`. Its witnesses are required besides those that pins have. */
function withLogOf(pins: ClientPins, { 'log-key': key, witness: witnesses = [] }: Values): ClientPins {
  if (key === undefined) {
    if (witnesses.length > 0) throw new UsageError('--witness needs --log-key.');
    return pins;
  }
  const name = requireKey('--log-key', key);
  for (const witness of witnesses) requireKey('--witness', witness);
  const { logs = [] } = pins;
  const known = logs.find((log) => readNoteKey(log.key)?.name === name);
  if (known !== undefined && known.key !== key) {
    throw new UsageError(`Your pins have another key of the log ${name}: ${known.key}. Remove that log to replace it.`);
  }
  const all = [...new Set([...(known?.witnesses ?? []), ...witnesses])];
  const log: ReleaseLog = { ...known, key, ...(all.length === 0 ? {} : { witnesses: all }) };
  return { ...pins, logs: [...logs.filter((each) => each !== known), log] };
}

function requireKey(option: string, text: string): string {
  const key = readNoteKey(text);
  if (key === undefined) {
    throw new UsageError(`${option} must be an Ed25519 key such as log.example.com+1a2b3c4d+AQ…; got "${text}".`);
  }
  return key.name;
}
