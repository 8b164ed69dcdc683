import type { OrderAnswer, RailName } from '@sotto/contract/control/orders';
import type { PayTo } from '@sotto/contract/control/wallets';
import { nusdToUsd, type OrderFlag, type OrderFunds, orderTotal, returnedNusd } from '@sotto/money';
import type { orders } from '../../database/billing-schema.ts';
import type { SqlRow } from '../../database/columns.ts';
import type { RailOrder } from '../rails/rail.ts';

export interface OrderRecord extends OrderFunds, RailOrder {
  readonly rail: RailName;
  readonly packageId: string;
  readonly checkoutUrl: string | undefined;
  readonly payTo: readonly PayTo[];
  readonly failure: string | undefined;
  readonly flag: OrderFlag | undefined;
  readonly paidAt: Date | undefined;
  readonly receiptNumber: string | undefined;
}

export type OrderRow = Omit<SqlRow<typeof orders>, 'form_id' | 'explanation' | 'next_check_at'> & {
  receipt_number: string | null;
};

/** The columns that every read of orders selects. `o` is the order. */
export const orderColumns = `o.id, o.account_id, o.status, o.rail, o.package_id, o.amount_nusd, o.fee_nusd, o.refunded_nusd,
  o.disputed_nusd, o.automatic, o.save_card, o.rail_reference, o.card, o.checkout_url, o.payment, o.failure, o.flag,
  o.created_at, o.expires_at, o.paid_at, o.wallet_key_hash, o.wallet_close_hash, o.pay_to,
  (select r.number from receipts r where r.order_id = o.id and r.kind = 'receipt') as receipt_number`;

export const toRecord = (row: OrderRow): OrderRecord => ({
  id: row.id,
  accountId: row.account_id,
  status: row.status,
  rail: row.rail,
  packageId: row.package_id,
  amountNusd: BigInt(row.amount_nusd),
  feeNusd: BigInt(row.fee_nusd),
  refundedNusd: BigInt(row.refunded_nusd),
  disputedNusd: BigInt(row.disputed_nusd),
  automatic: row.automatic,
  saveCard: row.save_card,
  reference: row.rail_reference ?? undefined,
  card: row.card ?? undefined,
  checkoutUrl: row.checkout_url ?? undefined,
  wallet:
    row.wallet_key_hash === null || row.wallet_close_hash === null
      ? undefined
      : { keyHash: row.wallet_key_hash, closeHash: row.wallet_close_hash },
  payTo: row.pay_to ?? [],
  payment: row.payment ?? undefined,
  failure: row.failure ?? undefined,
  flag: row.flag ?? undefined,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  paidAt: row.paid_at ?? undefined,
  receiptNumber: row.receipt_number ?? undefined,
});

export function toOrderAnswer(order: OrderRecord): OrderAnswer {
  const problem = order.flag ?? order.failure;
  const payable = order.status === 'pending' ? order.checkoutUrl : undefined;
  return {
    id: order.id,
    status: order.status,
    package_id: order.packageId,
    rail: order.rail,
    currency: 'USD',
    amount: nusdToUsd(order.amountNusd),
    fee: nusdToUsd(order.feeNusd),
    total: nusdToUsd(orderTotal(order)),
    refunded: nusdToUsd(returnedNusd(order)),
    automatic: order.automatic,
    ...(payable === undefined ? {} : { checkout_url: payable }),
    problem: problem === undefined ? null : { code: problem, message: messageOf(problem) },
    receipt_number: order.receiptNumber ?? null,
    created_at: order.createdAt.toISOString(),
    expires_at: order.expiresAt.toISOString(),
    paid_at: order.paidAt?.toISOString() ?? null,
  };
}

const flagMessages: Readonly<Record<OrderFlag, string>> = {
  amount_differs: 'Another amount than that of the order was paid. Nothing was credited; the operator looks into it.',
  currency_differs: 'It was paid in another currency than USD. Nothing was credited; the operator looks into it.',
  paid_twice: 'It was paid more than once and credited once. The operator returns what was paid too much.',
  overpaid: 'More than the order was paid. The order was credited; the operator returns the rest.',
  paid_partially: 'It ended with less paid than ordered. Nothing was credited; the operator returns what was paid.',
  disputed: 'The payment is disputed at its bank.',
  refund_failed: 'A refund did not arrive. The operator looks into it.',
};

const failureMessages: Readonly<Record<string, string>> = {
  refused: 'The payment service refused the order. Nothing was paid.',
  payment_failed: 'The payment failed. Nothing was paid.',
  payment_invalid: 'The payment was not confirmed. Nothing was credited.',
  no_saved_card: 'There is no saved card. Nothing was paid.',
  too_late: 'It could not be charged in time. Nothing was paid.',
  authentication_required: 'The bank wants the card holder to confirm the payment. Pay an order by hand.',
  insufficient_funds: 'The card was declined: not enough money is on it.',
  expired_card: 'The card was declined: it has expired.',
};

/**
 * Returns the public sentence for a problem with an order. Card issuers have many codes; all other codes are declines.
 */
export const messageOf = (code: string): string =>
  Object.hasOwn(flagMessages, code)
    ? flagMessages[code as OrderFlag]
    : (failureMessages[code] ?? 'The card was declined.');

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Time that one process has to open an order before another may try. Longer than a rail's calls can take. */
export const openingLeaseMs = minuteMs;
/** How long after an order's end its payment, or news of it, may still arrive. BTCPay watches invoices for a day. */
const lateMs = 48 * hourMs;
/** How long to look for refunds and disputes of a card payment, in case their webhooks are lost. */
const refundableMs = 120 * dayMs;

type Checked = Pick<OrderRecord, 'status' | 'rail' | 'createdAt' | 'expiresAt' | 'paidAt'>;

/**
 * Returns when to ask the rail about an order again, in case its webhooks are lost. Undefined means never. Young orders
 * are checked often, and every order at its end. A late payment of an expired order that is `processing` is waited for.
 */
export function nextCheck(
  { status, rail, createdAt, expiresAt, paidAt }: Checked,
  now: Date,
  { processing = false } = {},
): Date | undefined {
  const nowMs = now.getTime();
  const after = (ms: number): Date => new Date(nowMs + ms);
  switch (status) {
    case 'created':
    case 'pending': {
      const ageMs = nowMs - createdAt.getTime();
      const delayMs = Math.min(10 * minuteMs, Math.max(30 * secondMs, ageMs));
      const untilEndMs = expiresAt.getTime() - nowMs;
      return after(untilEndMs > 0 ? Math.min(delayMs, untilEndMs) : minuteMs);
    }
    case 'failed':
    case 'expired':
      return (processing && status === 'expired') || (rail !== 'test' && nowMs < expiresAt.getTime() + lateMs)
        ? after(hourMs)
        : undefined;
    case 'paid':
      return rail === 'card' && nowMs < (paidAt ?? createdAt).getTime() + refundableMs ? after(dayMs) : undefined;
    case 'refunded':
      return undefined;
    default:
      return status satisfies never;
  }
}
