import type { RailName, ReceiptAnswer } from '@sotto/wire';

const railTexts: Readonly<Record<RailName, string>> = {
  card: 'Card',
  crypto: 'Cryptocurrency',
  test: 'Test (no money was moved)',
};

/** A receipt as people read it: the same words on paper and on screen. */
export interface ReceiptText {
  readonly title: string;
  readonly number: string;
  readonly seller: readonly string[];
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly lines: readonly (readonly [label: string, value: string])[];
  readonly total: readonly [label: string, value: string];
}

export function receiptText(receipt: ReceiptAnswer): ReceiptText {
  const isNote = receipt.kind === 'credit_note';
  const { name, email, id } = receipt.account;
  const fact = (label: string, value: string | null): [string, string][] => (value ? [[label, value]] : []);
  return {
    title: isNote ? 'Credit note' : 'Receipt',
    number: receipt.number,
    seller: [
      receipt.seller.name,
      ...receipt.seller.address.split('\n'),
      ...(receipt.seller.tax_id === null ? [] : [`Tax id ${receipt.seller.tax_id}`]),
    ].filter((line) => line.trim() !== ''),
    facts: [
      ['Number', receipt.number],
      ...fact('Corrects receipt', receipt.corrects),
      ['Date', `${receipt.issued_at.slice(0, 10)} ${receipt.issued_at.slice(11, 16)} UTC`],
      ['Account', name],
      ...fact('E-mail', email === name ? null : email),
      ['Account id', id],
      ['Order', receipt.order_id],
      [isNote ? 'Returned by' : 'Paid by', railTexts[receipt.rail]],
    ],
    lines: [
      [isNote ? 'Prepaid balance, returned' : 'Prepaid balance', money(receipt.amount)],
      [isNote ? 'Fee, returned' : 'Fee', money(receipt.fee)],
    ],
    total: ['Total', money(receipt.total)],
  };
}

/** At least two decimals, and as many as the amount has. */
const money = (usd: number): string => {
  const [whole = '0', fraction = ''] = usd.toFixed(9).split('.');
  return `USD ${whole}.${fraction.replace(/0{0,7}$/, '')}`;
};
