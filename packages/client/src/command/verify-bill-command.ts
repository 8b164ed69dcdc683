import { parseArgs } from 'node:util';
import { nusdToDecimal } from '@sotto/money';
import { type ListedPrice, readPrices } from '../bill/price-list.ts';
import { readBill } from '../bill/read-bill.ts';
import { type ChargeFinding, verifyCharge } from '../bill/verify-charge.ts';
import { readOrigin } from '../origin.ts';
import { asUsage, onlyOne, readText } from './settings.ts';
import { type ExitCode, printableLine, type Terminal, UsageError } from './terminal.ts';

export const verifyBillHelp = `sotto verify-bill FILE|-: recomputes every charge of a bill, to the nano-dollar, and says which do not add up.

A bill is a page of GET /v1/usage, or one answer with its usage. Prices are those that the service lists now, or those of a
list that you kept: a charge from before a change of prices needs the list from before.

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
  const bill = readBill(file === '-' ? await readAll(terminal) : readText('FILE', file));
  if (typeof bill === 'string') throw new UsageError(`${file}: ${bill}.`);
  const prices = await pricesFrom(values.prices, values['control-url']);
  if (typeof prices === 'string') {
    terminal.note(`${prices}\n`);
    return 3;
  }
  const findings = bill.charges.map((charge) => verifyCharge(charge, prices));
  terminal.out(values.json ? `${JSON.stringify(findings.map(asJson), undefined, 2)}\n` : asText(findings));
  if (bill.hasMore)
    terminal.note('There are more charges after this page: ask for it with its `next_cursor` as `cursor`.\n');
  if (findings.some(({ result }) => result === 'above')) return 1;
  return findings.some(({ result }) => result === 'unknown') ? 3 : 0;
}

/** The prices; or a sentence that says why the service gives none. */
async function pricesFrom(
  file: string | undefined,
  controlUrl: string | undefined,
): Promise<readonly ListedPrice[] | string> {
  if ((file === undefined) === (controlUrl === undefined))
    throw new UsageError('Give one of --control-url and --prices.');
  if (file === undefined) return fetchPrices(controlUrl ?? '');
  const prices = readPrices(parse(readText('--prices', file)));
  if (prices === undefined) throw new UsageError('The prices are no answer of GET /v1/catalog/models.');
  return prices;
}

async function fetchPrices(controlUrl: string): Promise<readonly ListedPrice[] | string> {
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
