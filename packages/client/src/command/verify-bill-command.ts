import { parseArgs } from 'node:util';
import { nusdToDecimal } from '@sotto/money';
import { parseJson } from '@sotto/wire';
import { type PriceList, readPrices } from '../bill/price-list.ts';
import { readBill } from '../bill/read-bill.ts';
import { isReceipt, judgeReceipt, type ReceiptFinding, readReceiptCharge } from '../bill/receipt-charge.ts';
import { type ChargeFinding, verifyCharge } from '../bill/verify-charge.ts';
import { readOrigin } from '../origin.ts';
import type { ControlPath } from '../service-paths.ts';
import { asUsage, onlyOne, readText } from './settings.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const verifyBillHelp = `sotto verify-bill FILE|-: recompute every charge of a bill, to the nano-dollar, and list those that do not add up.

A bill is a page of GET /v1/usage, one answer with its usage, or a receipt (GET /v1/inference/receipt).
A usage page or an answer needs a price list: the current one, or the one that was valid when you were charged.
A receipt contains its own usage, price and catalog digest, so a price list is optional. Its signature is not checked.

  --control-url URL    fetch the current prices from the control origin (GET /v1/catalog/models; sends no key)
  --prices FILE        read the prices from a file with that answer
  --json               print the findings as JSON

Exit codes: 0 every charge adds up or is lower; 1 a charge is too high; 2 wrong command line; 3 no price list, or a charge
without a price.
`;

/** Runs `sotto verify-bill FILE|-`. */
export async function verifyBillCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { json: { type: 'boolean' }, prices: { type: 'string' }, 'control-url': { type: 'string' } },
  });
  const file = onlyOne('FILE', positionals);
  const text = file === '-' ? await readAll(terminal) : readText('FILE', file);
  const document = parseJson(text);
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
    terminal.note('The bill has more pages. Request the next one with `cursor` set to `next_cursor`.\n');
  if (findings.some(({ result }) => result === 'above')) return 1;
  return findings.some(({ result }) => result === 'unknown') ? 3 : 0;
}

const receiptWords: Readonly<Record<ReceiptFinding, string>> = {
  exact: 'adds up',
  below: 'is below the price',
  above: 'DOES NOT ADD UP',
  other_price: 'ADDS UP, BUT THE PRICE LIST DOES NOT HAVE ITS PRICE',
  other_catalog: 'adds up; not compared, because the price list is of another catalog',
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
  if (typeof charge === 'string') throw new UsageError(`${given.file} is not a bill: ${charge}.`);
  if ('free' in charge) {
    terminal.out(
      given.json ? `${JSON.stringify({ result: 'free' })}\n` : 'The request was not served and not charged.\n',
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
    const counted = estimated ? ', tokens counted by the service' : '';
    const line = `${charged} USD for ${model} by ${provider}${counted}: ${receiptWords[result]} (its usage costs ${cost} USD)`;
    terminal.out(`${printableLine(line)}\nCatalog ${printableLine(catalogDigest)}\n`);
  }
  if (result === 'above' || result === 'other_price') return 1;
  return result === 'other_catalog' ? 3 : 0;
}

/** Returns the prices, or a sentence if the service does not give any. */
async function pricesFrom(file: string | undefined, controlUrl: string | undefined): Promise<PriceList | string> {
  if ((file === undefined) === (controlUrl === undefined))
    throw new UsageError('Pass either --control-url or --prices.');
  if (file === undefined) return fetchPrices(controlUrl ?? '');
  const prices = readPrices(parseJson(readText('--prices', file)));
  if (prices === undefined) throw new UsageError(`--prices ${file}: not an answer of GET /v1/catalog/models.`);
  return prices;
}

async function fetchPrices(controlUrl: string): Promise<PriceList | string> {
  const { origin } = asUsage(() => readOrigin('--control-url', controlUrl));
  const answer = await fetch(`${origin}${'/v1/catalog/models' satisfies ControlPath<'GET'>}`, {
    redirect: 'error',
  }).catch(() => undefined);
  const list: unknown = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  return (
    readPrices(list) ?? `Cannot load prices from ${origin}. Check the address, or pass a saved list with --prices.`
  );
}

async function readAll({ input }: Terminal): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of input) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString('utf8');
}

const words = {
  exact: 'adds up',
  within: 'adds up, apart from cache writes, which the bill does not count',
  below: 'is below the price',
  above: 'DOES NOT ADD UP',
  unknown: 'has no price in the price list',
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
      : ` (expected ${nusdToDecimal(explained.leastNusd)}${explained.mostNusd === explained.leastNusd ? '' : ` to ${nusdToDecimal(explained.mostNusd)}`} USD)`;
  const counted = estimated ? ', tokens counted by the service' : '';
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
