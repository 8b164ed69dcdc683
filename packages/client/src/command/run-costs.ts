import { renameSync, writeFileSync } from 'node:fs';
import { maxNusd, type Nusd, nusdToDecimal, nusdToUsd, usdToNusd } from '@sotto/money';
import { headerNames, operationAt } from '@sotto/wire';
import { OwnBill } from '../bill/own-bill.ts';
import type { ListedPrice } from '../bill/price-list.ts';
import type { Charge } from '../bill/read-bill.ts';
import { readReceiptCharge } from '../bill/receipt-charge.ts';
import { secureRandom, toHex } from '../e2ee/bytes.ts';
import { awaitReceipt } from '../enclave/check-receipts.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { RunMeter, type RunTotals } from '../proxy/run-meter.ts';
import type { OpenService } from './open-service.ts';
import { readText } from './settings.ts';
import { codeOf, printableLine, type Terminal, UsageError } from './terminal.ts';

/** Options about what requests cost, as `parseArgs` takes them. */
export const costOptions = { 'max-cost': { type: 'string' }, bill: { type: 'string' } } as const;

export const costHelp = `  --max-cost USD       refuse chats that could make the run cost more, and every other request that costs;
                       not with --e2ee, whose answers state no cost
  --bill FILE          write what each chat cost, the total so far, and the broker's receipts, for \`sotto verify-bill\`;
                       not with --e2ee`;

interface CostValues {
  readonly 'max-cost'?: string | undefined;
  readonly bill?: string | undefined;
  readonly e2ee?: boolean | undefined;
}

/** What the user asks for about costs. Its bill exists. */
export interface CostTerms {
  readonly cap: Nusd | undefined;
  readonly billFile: string | undefined;
}

/** Reads the options, and creates the bill. Throws a `UsageError` as `readCap` does, or if the file exists or cannot be written. */
export function readCostTerms(values: CostValues): CostTerms {
  const cap = readCap(values);
  const { bill } = values;
  if (bill !== undefined) createBill(bill, new OwnBill().text);
  return { cap, billFile: bill };
}

function createBill(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = codeOf(error);
    // A run that ended before its first chat leaves an empty bill.
    if (code === 'EEXIST' && readText('--bill', file) === text) return;
    const reason = code === 'EEXIST' ? 'the file exists, and may be the bill of another run' : `${code}`;
    throw new UsageError(
      `--bill ${file} cannot be created: ${reason}. Name a new file in a folder that you can write.`,
    );
  }
}

/** Reads `--max-cost`. Throws a `UsageError` for another amount, and for options that do not go together. */
export function readCap(values: CostValues): Nusd | undefined {
  const { 'max-cost': text, bill, e2ee } = values;
  if (e2ee && text !== undefined) throw new UsageError(notEncrypted('--max-cost', 'bound'));
  if (e2ee && bill !== undefined) throw new UsageError(notEncrypted('--bill', 'list'));
  if (text === undefined) return undefined;
  const cap = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? usdToNusd(Number(text)) : undefined;
  if (cap !== undefined && cap > 0n) return cap;
  throw new UsageError(
    `--max-cost must be an amount in USD above 0 and at most ${nusdToDecimal(maxNusd)}, such as 2.50; got "${text}".`,
  );
}

const notEncrypted = (option: string, verb: string): string =>
  `${option} cannot ${verb} what encrypted chats cost: only the provider's enclave can read their answers, so these state no cost. Leave out ${option} or --e2ee.`;

export interface RunCostsOptions extends CostTerms {
  readonly terminal: Terminal;
  readonly client: Pick<OpenService, 'exchange' | 'session'>;
  /** For what caches saved. */
  readonly prices: readonly ListedPrice[];
  /** Whether to note what each chat cost. An agent's terminal is its own. */
  readonly notesTurns: boolean;
}

/** Time in ms to wait for the last receipts when a run ends. */
const patienceMs = 8_000;
/** A charge is settled shortly after its answer has ended. In ms. */
const pausesMs = [250, 1000, 4000];

function statesCharge(receipt: unknown): boolean {
  const charge = readReceiptCharge(receipt);
  return typeof charge === 'object' && 'chargeNusd' in charge;
}

/** Counts the cost of a run on the way of its requests, and writes its bill. */
export class RunCosts implements Exchange {
  readonly #options: RunCostsOptions;
  readonly #meter: RunMeter;
  readonly #bill = new OwnBill();
  readonly #ending = new AbortController();
  readonly #receipts = new Set<Promise<void>>();

  constructor(options: RunCostsOptions) {
    this.#options = options;
    const { cap, prices, client } = options;
    this.#meter = new RunMeter(client.exchange, {
      cap,
      prices,
      onCharge: (charge, asked) => this.#note(charge, asked),
    });
  }

  ask(asked: AskedRequest) {
    const isBilled = this.#options.billFile !== undefined && operationAt(asked.path) === 'chat';
    if (!isBilled) return this.#meter.ask(asked);
    const own = toHex(secureRandom(32));
    const header = (name: string): string | undefined =>
      asked.header(name) ?? (name === headerNames.receipt ? own : undefined);
    return this.#meter.ask({ ...asked, header });
  }

  /** Waits for the last receipts, and says what the run cost. Call it once, while the client is open. */
  async end(): Promise<void> {
    const { terminal, billFile } = this.#options;
    const timer = setTimeout(() => this.#ending.abort(), patienceMs);
    await Promise.all(this.#receipts);
    clearTimeout(timer);
    terminal.note(summary(this.#meter.totals));
    if (billFile === undefined) return;
    const { charges, receipts } = this.#bill;
    const line = `Bill: ${billFile}, ${charges} charges, ${receipts} with a receipt. \`sotto verify-bill ${billFile}\` checks it.`;
    terminal.note(`${printableLine(line)}\n`);
  }

  #note(charge: Charge, asked: AskedRequest): void {
    const { billFile, notesTurns, terminal, client } = this.#options;
    if (billFile === undefined) return;
    const row = this.#bill.add(charge, Date.now());
    this.#write(billFile);
    if (notesTurns) terminal.note(`${printableLine(turnLine(charge, this.#bill.total))}\n`);
    const secret = asked.header(headerNames.receipt);
    if (secret === undefined) return;
    const question = { session: client.session, secret, signal: this.#ending.signal };
    // Control is not asked, because it would see a key beside the request. The run goes on without a receipt.
    const asking = awaitReceipt(question, { pausesMs, isReady: statesCharge }).catch(() => undefined);
    const fetching = asking.then((receipt) => {
      this.#receipts.delete(fetching);
      if (receipt === undefined) return;
      row.receipt = receipt;
      this.#write(billFile);
    });
    this.#receipts.add(fetching);
  }

  /** Others see the old bill or the new one, never a part. */
  #write(file: string): void {
    try {
      writeFileSync(`${file}.new`, this.#bill.text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      this.#options.terminal.note(`${printableLine(`The bill ${file} cannot be written (${codeOf(error)}).`)}\n`);
    }
  }
}

const usd = (amount: Nusd): string =>
  amount > 0n && amount < 100_000n ? '<$0.0001' : `$${nusdToUsd(amount).toFixed(4)}`;

const counted = (tokens: number): string => tokens.toLocaleString('en-US');

const turnLine = ({ chargeNusd, model, provider, promptTokens, cachedTokens }: Charge, total: Nusd): string =>
  `${usd(chargeNusd)} for ${model} by ${provider ?? 'an unnamed provider'}, ${counted(cachedTokens)} of ${counted(promptTokens)} prompt tokens cached. Total: ${usd(total)}.`;

/** One line of what the run cost, by which tiers it was served, and what caches saved. */
function summary(totals: RunTotals): string {
  const { requests, cost, unstated, classes, promptTokens, cachedTokens, saved, uncounted } = totals;
  const others =
    uncounted === 0 ? '' : ` Not counted: ${uncounted} that ${uncounted === 1 ? 'was no chat' : 'were no chats'}.`;
  if (requests === 0) return `sotto: no request was served.${others}\n`;
  const unknown = unstated === 0 ? '' : ` The cost of ${unstated} is unknown, and may be charged.`;
  const tiers = [...classes].map(([name, count]) => `${name} ${count}`).join(', ');
  const providers = tiers === '' ? '' : ` Providers: ${tiers}.`;
  const worth = saved > 0n ? `, which saved ${usd(saved)}` : '';
  const cached =
    promptTokens === 0 ? '' : ` Cached: ${counted(cachedTokens)} of ${counted(promptTokens)} prompt tokens${worth}.`;
  return `sotto: ${requests} ${requests === 1 ? 'request' : 'requests'}, ${usd(cost)}.${unknown}${providers}${cached}${others}\n`;
}
