import { parseArgs } from 'node:util';
import { receiptSchema } from '@sotto/attestation';
import { nusdToDecimal } from '@sotto/money';
import { parseJson } from '@sotto/wire';
import { inexactPriceIn, type PriceList, readPrices } from '../bill/price-list.ts';
import { readBill } from '../bill/read-bill.ts';
import {
  isReceipt,
  judgeReceipt,
  type ReceiptCharge,
  type ReceiptFinding,
  readReceiptCharge,
  type UnbilledReceipt,
} from '../bill/receipt-charge.ts';
import { type ChargeFinding, verifyCharge } from '../bill/verify-charge.ts';
import { readOrigin } from '../origin.ts';
import { type NodePlatformOptions, nodePlatform } from '../platform/node-platform.ts';
import type { ControlPath } from '../service-paths.ts';
import { checkBillReceipts } from './bill-receipts.ts';
import {
  type SignerValues,
  signatureChecker,
  signatureJson,
  signatureLine,
  signerOptions,
} from './receipt-signature.ts';
import { asUsage, onlyOne, readText } from './settings.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const verifyBillHelp = `sotto verify-bill FILE|-: recompute every charge of a bill, to the nano-dollar, and list those that do not add up.

A bill is a page of GET /v1/usage, one answer with its usage, a receipt (GET /v1/inference/receipt), or a file of
\`sotto run --bill\`, which has the receipt of each charge.
A usage page or an answer needs a price list: the current one, or the one that was valid when you were charged.
A receipt contains its own usage, price and catalog digest, so a price list is optional. Its signature is checked by the key
that the broker attests now, which is another one after a restart. A usage page and an answer are not signed.

  --control-url URL    fetch the current prices from the control origin (GET /v1/catalog/models; sends no key)
  --prices FILE        read the prices from a file with that answer
  --json               print the findings as JSON

For the signature of a receipt:
  --base-url URL       the confidential origin whose broker signed it (default: the variable BASE_URL)
  --pins FILE          the machines to accept (default: those that this build ships with)
  --require VERDICT    the weakest verdict on the broker (default: hardware_verified)
  --self-signed        connect even if no trusted authority signed the certificate
  --allow-simulated    for development: accept simulated evidence from a service on this machine
  --relay URL          connect through a SOCKS5 or HTTP proxy, such as socks5://127.0.0.1:9050

Exit codes: 0 every charge adds up or is lower, and a receipt is signed; 1 a charge is too high, or a signature is not valid;
2 wrong command line; 3 no price list, a charge without a price, or a signature that could not be checked.
`;

/** Runs `sotto verify-bill FILE|-`. */
export async function verifyBillCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...signerOptions,
      ...{ json: { type: 'boolean' }, prices: { type: 'string' }, 'control-url': { type: 'string' } },
    },
  });
  const file = onlyOne('FILE', positionals);
  const text = file === '-' ? await readAll(terminal) : readText('FILE', file);
  const document = parseJson(text);
  if (isReceipt(document)) return verifyReceiptBill(terminal, { file, document, ...values });
  const bill = readBill(text);
  if (typeof bill === 'string') throw new UsageError(`${file}: ${bill}.`);
  const prices = await pricesFrom(terminal, values);
  if (typeof prices === 'string') {
    terminal.note(`${prices}\n`);
    return 3;
  }
  const findings = bill.charges.map((charge) => verifyCharge(charge, prices.prices));
  terminal.out(values.json ? `${JSON.stringify(findings.map(asJson), undefined, 2)}\n` : asText(findings));
  const hasReceipts = bill.charges.some(({ receipt }) => receipt !== undefined);
  if (!hasReceipts)
    terminal.note('It is not signed: only the arithmetic was checked. A receipt is signed (`x-router-receipt`).\n');
  const proven = hasReceipts
    ? await checkBillReceipts({
        ...{ charges: bill.charges, prices, check: await signatureChecker(terminal, values) },
        show: (line) => (values.json ? terminal.note(`${line}\n`) : terminal.out(`${line}\n`)),
      })
    : 0;
  if (bill.hasMore)
    terminal.note('The bill has more pages. Request the next one with `cursor` set to `next_cursor`.\n');
  if (proven === 1 || findings.some(({ result }) => result === 'above')) return 1;
  return findings.some(({ result }) => result === 'unknown') ? 3 : proven;
}

type ReceiptResult = ReceiptFinding | UnbilledReceipt['unbilled'];

const receiptWords: Readonly<Record<ReceiptResult, string>> = {
  exact: 'adds up',
  below: 'is below the price',
  above: 'DOES NOT ADD UP',
  other_price: 'ADDS UP, BUT THE PRICE LIST DOES NOT HAVE ITS PRICE',
  other_catalog: 'adds up; not compared, because the price list is of another catalog',
  not_served: 'The receipt says that the request was not served, and states no charge.',
  not_settled: 'The charge is not settled yet. Fetch the receipt again.',
};

type ReceiptValues = SignerValues & PriceValues & { readonly json?: boolean | undefined };

interface PriceValues {
  readonly prices?: string | undefined;
  readonly 'control-url'?: string | undefined;
  readonly relay?: string | undefined;
}

async function verifyReceiptBill(
  terminal: Terminal,
  { file, document, ...values }: ReceiptValues & { readonly file: string; readonly document: unknown },
): Promise<ExitCode> {
  const charge = readReceiptCharge(document);
  if (typeof charge === 'string') throw new UsageError(`${file} is not a bill: ${charge}.`);
  const hasList = values.prices !== undefined || values['control-url'] !== undefined;
  const list = hasList ? await pricesFrom(terminal, values) : undefined;
  if (typeof list === 'string') {
    terminal.note(`${list}\n`);
    return 3;
  }
  const signature = await (await signatureChecker(terminal, values))(receiptSchema.parse(document));
  const result = 'unbilled' in charge ? charge.unbilled : judgeReceipt(charge, list);
  const shown = values.json
    ? JSON.stringify({ ...chargeJson(charge), result, signature: signatureJson(signature) }, undefined, 2)
    : [...chargeLines(charge, result), signatureLine(signature), unboundLine].map(printableLine).join('\n');
  terminal.out(`${shown}\n`);
  if (signature.state === 'invalid' || result === 'above' || result === 'other_price') return 1;
  return signature.state === 'unchecked' || result === 'other_catalog' || result === 'not_settled' ? 3 : 0;
}

const unboundLine =
  'Not checked: whether it is the receipt of your request. Compare `received_sha256` and `returned_sha256` with the SHA-256 of both bodies.';

function chargeLines(charge: ReceiptCharge | UnbilledReceipt, result: ReceiptResult): string[] {
  if ('unbilled' in charge) return [receiptWords[charge.unbilled]];
  const { model, provider, chargeNusd, costNusd, catalogDigest, estimated } = charge;
  const counted = estimated ? ', tokens counted by the service' : '';
  return [
    `${nusdToDecimal(chargeNusd)} USD for ${model} by ${provider}${counted}: ${receiptWords[result]} (its usage costs ${nusdToDecimal(costNusd)} USD)`,
    `Catalog ${catalogDigest}`,
  ];
}

function chargeJson(charge: ReceiptCharge | UnbilledReceipt): object {
  if ('unbilled' in charge) return {};
  const { model, provider, chargeNusd, costNusd, catalogDigest } = charge;
  return {
    ...{ model, provider, charged_usd: nusdToDecimal(chargeNusd), cost_usd: nusdToDecimal(costNusd) },
    catalog_digest: catalogDigest,
  };
}

/** Returns the prices, or a sentence if the service does not give any. */
async function pricesFrom(
  terminal: Terminal,
  { prices: file, 'control-url': controlUrl, relay }: PriceValues,
): Promise<PriceList | string> {
  if ((file === undefined) === (controlUrl === undefined))
    throw new UsageError('Pass either --control-url or --prices.');
  if (file === undefined) return fetchPrices(controlUrl ?? '', { relay, relaysPlainHttp: terminal.relaysPlainHttp });
  const listed = parseJson(readText('--prices', file));
  const prices = readPrices(listed);
  if (prices !== undefined) return prices;
  throw new UsageError(`--prices ${file}: ${inexactPriceIn(listed) ?? 'not an answer of GET /v1/catalog/models'}.`);
}

async function fetchPrices(
  controlUrl: string,
  way: Pick<NodePlatformOptions, 'relay' | 'relaysPlainHttp'>,
): Promise<PriceList | string> {
  const { origin } = asUsage(() => readOrigin('--control-url', controlUrl));
  const { controlFetch = fetch } = asUsage(() => nodePlatform({ ...way, selfSigned: false }));
  const answer = await controlFetch(`${origin}${'/v1/catalog/models' satisfies ControlPath<'GET'>}`, {
    redirect: 'error',
  }).catch(() => undefined);
  const list: unknown = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
  const prices = readPrices(list);
  if (prices !== undefined) return prices;
  const inexact = inexactPriceIn(list);
  if (inexact !== undefined) return `The prices of ${origin} cannot be used: ${inexact}.`;
  return `Cannot load prices from ${origin}. Check the address, or pass a saved list with --prices.`;
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

/** The words of one charge as they are about several. */
const severally = (text: string): string =>
  text
    .replace(/^adds/, 'add')
    .replace(/^is /, 'are ')
    .replace(/^DOES/, 'DO')
    .replace(/^has no price/, 'have no price');

function asText(findings: readonly ChargeFinding[]): string {
  const lines = findings
    .filter(({ result }) => result !== 'exact')
    .map((finding) => `${printableLine(`${finding.charge.id}  ${lineOf(finding)}`)}\n`);
  const total = findings.reduce((sum, { charge }) => sum + charge.chargeNusd, 0n);
  const counts = Object.entries(words).flatMap(([result, text]) => {
    const count = findings.filter((finding) => finding.result === result).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? text : severally(text)}`];
  });
  return `${lines.join('')}${findings.length} ${findings.length === 1 ? 'charge' : 'charges'}, ${nusdToDecimal(total)} USD: ${counts.join('; ') || 'nothing to check'}\n`;
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
