import { parseArgs } from 'node:util';
import { nusdToDecimal } from '@sotto/money';
import { type PriceList, readPrices } from '../bill/price-list.ts';
import { readBill } from '../bill/read-bill.ts';
import { isReceipt, judgeReceipt, type ReceiptFinding, readReceiptCharge } from '../bill/receipt-charge.ts';
import { type ChargeFinding, verifyCharge } from '../bill/verify-charge.ts';
import { readOrigin } from '../origin.ts';
import { asUsage, onlyOne, readText } from './settings.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const verifyBillHelp = `sotto verify-bill FILE|-: recomputes every charge of a bill, to the nano-dollar, and says which do not add up.

A bill is a receipt (GET /v1/inference/receipt), a page of GET /v1/usage, or one answer with its usage. A receipt brings its own
usage, price and catalog digest, and is compared with a list of prices where you give one; whether the broker signed it is not
looked at here. The others need prices: those that the service lists now, or those of a list that you kept: a charge from before
a change of prices needs the list from before.

  --control-url URL    take the prices from the control origin (GET /v1/catalog/models; no key is sent)
  --prices FILE        take them from a file with that answer
  --json               the findings as JSON

Exit codes: 0 everything adds up, or costs less; 1 something does not; 2 the call is wrong; 3 there is no price for something, or no
list to be had.
`;

/** `sotto verify-bill FILE|-`. */
export async function verifyBillCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { json: { type: 'boolean' }, prices: { type: 'string' }, 'control-url': { type: 'string' } },
  });
  const file = onlyOne('FILE', positionals);
  const text = file === '-' ? await readAll(terminal) : readText('FILE', file);
  const document = parse(text);
  if (isReceipt(document)) return verifyReceiptBill(terminal, { file, document, ...values });
  const bill = readBill(text);
  if (typeof bill === 'string') throw new UsageError(`${file}: ${bill}.`);
  const prices = await pricesFrom(values.prices, values['control-url']);
  if (typeof prices === 'string') {
    terminal.note(`${prices}\n`);
    return 3;
  }
  const findings = bill.charges.map((charge) => verifyCharge(charge, prices.prices));
  terminal.out(values.json ? `${JSON.stringify(findings.map(asJson), undefined, 2)}\n` : asText(findings));
  if (bill.hasMore)
    terminal.note('There are more charges after this page: ask for it with its `next_cursor` as `cursor`.\n');
  if (findings.some(({ result }) => result === 'above')) return 1;
  return findings.some(({ result }) => result === 'unknown') ? 3 : 0;
}

const receiptWords: Readonly<Record<ReceiptFinding, string>> = {
  exact: 'adds up',
  below: 'is less than the price says',
  above: 'DOES NOT ADD UP',
  other_price: 'ADDS UP AT A PRICE THAT ITS CATALOG DOES NOT HAVE',
  other_catalog: 'adds up; the list of prices is of another catalog, and was not compared',
};

async function verifyReceiptBill(
  terminal: Terminal,
  given: {
    readonly file: string;
    readonly document: unknown;
    readonly json?: boolean | undefined;
    readonly prices?: string | undefined;
    readonly 'control-url'?: string | undefined;
  },
): Promise<ExitCode> {
  const charge = readReceiptCharge(given.document);
  if (typeof charge === 'string') throw new UsageError(`${given.file}: it is no bill: ${charge}.`);
  if ('free' in charge) {
    terminal.out(
      given.json ? `${JSON.stringify({ result: 'free' })}\n` : 'Nothing was served, and nothing is charged.\n',
    );
    return 0;
  }
  const hasList = given.prices !== undefined || given['control-url'] !== undefined;
  const list = hasList ? await pricesFrom(given.prices, given['control-url']) : undefined;
  if (typeof list === 'string') {
    terminal.note(`${list}\n`);
    return 3;
  }
  const result = judgeReceipt(charge, list);
  const { model, provider, chargeNusd, costNusd, catalogDigest, estimated } = charge;
  const [charged, cost] = [nusdToDecimal(chargeNusd), nusdToDecimal(costNusd)];
  if (given.json) {
    const shown = { model, provider, charged_usd: charged, cost_usd: cost, catalog_digest: catalogDigest, result };
    terminal.out(`${JSON.stringify(shown, undefined, 2)}\n`);
  } else {
    const counted = estimated ? ', its tokens counted by the service' : '';
    const line = `${charged} USD for ${model} by ${provider}${counted}: ${receiptWords[result]} (usage at its price: ${cost} USD)`;
    terminal.out(`${printableLine(line)}\nCatalog ${printableLine(catalogDigest)}\n`);
  }
  if (result === 'above' || result === 'other_price') return 1;
  return result === 'other_catalog' ? 3 : 0;
}

/** The prices; or a sentence that says why the service gives none. */
async function pricesFrom(file: string | undefined, controlUrl: string | undefined): Promise<PriceList | string> {
  if ((file === undefined) === (controlUrl === undefined))
    throw new UsageError('Give one of --control-url and --prices.');
  if (file === undefined) return fetchPrices(controlUrl ?? '');
  const prices = readPrices(parse(readText('--prices', file)));
  if (prices === undefined) throw new UsageError('The prices are no answer of GET /v1/catalog/models.');
  return prices;
}

async function fetchPrices(controlUrl: string): Promise<PriceList | string> {
  const { origin } = asUsage(() => readOrigin('--control-url', controlUrl));
  const answer = await fetch(`${origin}/v1/catalog/models`, { redirect: 'error' }).catch(() => undefined);
  const list: unknown = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  return readPrices(list) ?? `No list of prices can be had from ${origin}.`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readAll({ input }: Terminal): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of input) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString('utf8');
}

const words = {
  exact: 'adds up',
  within: 'adds up to within the cache writes that it does not count',
  below: 'is less than the price says',
  above: 'DOES NOT ADD UP',
  unknown: 'has no price in the list',
} as const;

function asText(findings: readonly ChargeFinding[]): string {
  const lines = findings
    .filter(({ result }) => result !== 'exact')
    .map((finding) => `${printableLine(`${finding.charge.id}  ${lineOf(finding)}`)}\n`);
  const total = findings.reduce((sum, { charge }) => sum + charge.chargeNusd, 0n);
  const counts = Object.entries(words).flatMap(([result, text]) => {
    const count = findings.filter((finding) => finding.result === result).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return `${lines.join('')}${findings.length} charges, ${nusdToDecimal(total)} USD: ${counts.join('; ') || 'nothing to check'}\n`;
}

function lineOf({ charge, result, explained }: ChargeFinding): string {
  const { model, provider, chargeNusd, estimated } = charge;
  const span =
    explained === undefined
      ? ''
      : ` (prices explain ${nusdToDecimal(explained.leastNusd)}${explained.mostNusd === explained.leastNusd ? '' : ` to ${nusdToDecimal(explained.mostNusd)}`} USD)`;
  const counted = estimated ? ', its tokens counted by the service' : '';
  return `${nusdToDecimal(chargeNusd)} USD for ${model} by ${provider ?? 'an unnamed provider'}${counted}: ${words[result]}${span}`;
}

const asJson = ({ charge, result, explained }: ChargeFinding): object => ({
  id: charge.id,
  model: charge.model,
  provider: charge.provider ?? null,
  charged_usd: nusdToDecimal(charge.chargeNusd),
  result,
  explained_usd:
    explained === undefined ? null : [nusdToDecimal(explained.leastNusd), nusdToDecimal(explained.mostNusd)],
});
