import type { OrderFlag } from '@sotto/money';

const flagSentences: Readonly<Record<OrderFlag, string>> = {
  amount_differs: 'Another amount than that of the order was paid. Nothing was credited; the operator looks into it.',
  currency_differs: 'It was paid in another currency than USD. Nothing was credited; the operator looks into it.',
  paid_twice: 'It was paid more than once and credited once. The operator returns what was paid too much.',
  overpaid: 'More than the order was paid. The order was credited; the operator returns the rest.',
  paid_partially: 'It ended with less paid than ordered. Nothing was credited; the operator returns what was paid.',
  disputed: 'The payment is disputed at its bank.',
  refund_failed: 'A refund did not arrive. The operator looks into it.',
};

const failureSentences: Readonly<Record<string, string>> = {
  refused: 'The payment service refused the order. Nothing was paid.',
  payment_failed: 'The payment failed. Nothing was paid.',
  payment_invalid: 'The payment was not confirmed. Nothing was credited.',
  no_saved_card: 'There is no saved card. Nothing was paid.',
  authentication_required: 'The bank wants the card holder to confirm the payment. Pay an order by hand.',
  insufficient_funds: 'The card was declined: not enough money is on it.',
  expired_card: 'The card was declined: it has expired.',
};

/** The public sentence of what is wrong with an order. Codes of card issuers are many; the rest were all declines. */
export const sentenceOf = (code: string): string =>
  Object.hasOwn(flagSentences, code)
    ? flagSentences[code as OrderFlag]
    : (failureSentences[code] ?? 'The card was declined.');
