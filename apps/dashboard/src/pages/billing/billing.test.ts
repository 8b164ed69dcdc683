import type { OrderAnswer } from '@sotto/contract/control/orders';
import { expect, it } from 'vitest';
import { creditedWords } from './billing.ts';

const paid = { status: 'paid', amount: 10, fee: 0.55, total: 10.55, refunded: 0, problem: null } as OrderAnswer;

it('an order that was paid says what is left of it', () => {
  expect(creditedWords(paid)).toBe('Paid: $10.00 is in your balance.');
  expect(creditedWords({ ...paid, refunded: 5 })).toBe(
    'Paid: $10.00 was credited. Since then, $5.00 was returned, and its share of the credit was taken back.',
  );
  expect(creditedWords({ ...paid, status: 'refunded', refunded: 10.55 })).toBe(
    'Refunded: $10.55 was returned, and the credit was taken back.',
  );
  const problem = { code: 'disputed', message: 'The payment is disputed at its bank.' } as const;
  expect(creditedWords({ ...paid, problem })).toBe(`Paid: $10.00 is in your balance. ${problem.message}`);
});
