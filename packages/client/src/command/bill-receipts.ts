import { receiptSchema } from '@sotto/attestation';
import { nusdToDecimal } from '@sotto/money';
import type { PriceList } from '../bill/price-list.ts';
import type { Charge } from '../bill/read-bill.ts';
import { judgeReceipt, readReceiptCharge } from '../bill/receipt-charge.ts';
import type { CheckSignature } from './receipt-signature.ts';
import { type ExitCode, printableLine } from './terminal.ts';

export interface BillReceipts {
  readonly show: (line: string) => void;
  readonly charges: readonly Charge[];
  readonly prices: PriceList;
  readonly check: CheckSignature;
}

/**
 * Compares the charges of a bill with their receipts, and checks who signed those. Resolves to 0 if every receipt proves its
 * charge, to 1 if one contradicts it or is forged, and to 3 if a charge has no receipt or a signature could not be checked.
 */
export async function checkBillReceipts({ show, charges, prices, check }: BillReceipts): Promise<ExitCode> {
  const problems = new Map<string, { readonly count: number; readonly isWrong: boolean }>();
  const seen = new Set<string>();
  let valid = 0;
  for (const charge of charges) {
    const problem = await problemOf(charge, { prices, check, seen });
    if (problem === undefined) valid += 1;
    else problems.set(problem.text, { ...problem, count: (problems.get(problem.text)?.count ?? 0) + 1 });
  }
  show(`${valid} of ${charges.length} charges are proven by a signed receipt.`);
  for (const [text, { count }] of problems) show(printableLine(`${count} ${count === 1 ? 'is' : 'are'} not: ${text}.`));
  if ([...problems.values()].some(({ isWrong }) => isWrong)) return 1;
  return problems.size === 0 ? 0 : 3;
}

interface Problem {
  readonly text: string;
  /** Whether the receipt contradicts the charge, or is forged. */
  readonly isWrong: boolean;
}

async function problemOf(
  { receipt, id, chargeNusd, model, provider }: Charge,
  { prices, check, seen }: Pick<BillReceipts, 'prices' | 'check'> & { readonly seen: Set<string> },
): Promise<Problem | undefined> {
  if (receipt === undefined) return { text: 'no receipt came', isWrong: false };
  const stated = readReceiptCharge(receipt);
  if (typeof stated === 'string' || 'unbilled' in stated)
    return { text: `${id}: the receipt states no charge`, isWrong: true };
  const signed = receiptSchema.parse(receipt);
  // One receipt must not prove two charges.
  const digest = JSON.stringify(signed);
  if (seen.has(digest)) return { text: `${id}: another charge has the same receipt`, isWrong: true };
  seen.add(digest);
  if (stated.chargeNusd !== chargeNusd || stated.model !== model || (provider ?? stated.provider) !== stated.provider) {
    const other = `${nusdToDecimal(stated.chargeNusd)} USD for ${stated.model} by ${stated.provider}`;
    return { text: `${id}: the receipt is of another charge: ${other}`, isWrong: true };
  }
  const result = judgeReceipt(stated, prices);
  if (result === 'above' || result === 'other_price')
    return { text: `${id}: the receipt's charge does not follow from its usage and the list's prices`, isWrong: true };
  const signature = await check(signed);
  if (signature.state === 'valid') return undefined;
  return {
    text: `signature not ${signature.state === 'invalid' ? 'valid' : 'checked'}: ${signature.reason}`,
    isWrong: signature.state === 'invalid',
  };
}
