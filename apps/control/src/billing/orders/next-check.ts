import type { OrderRecord } from './order-record.ts';

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Whoever opens an order has this long before anybody else tries; longer than a rail's calls can take. */
export const openingLeaseMs = minuteMs;
/** How long after its end a payment may still come, or be told of (BTCPay watches invoices for a day). */
const lateMs = 48 * hourMs;
/** How long refunds and disputes of a card payment are looked for, should their webhooks be lost. */
const refundableMs = 120 * dayMs;

type Checked = Pick<OrderRecord, 'status' | 'rail' | 'createdAt' | 'expiresAt' | 'paidAt'>;

/**
 * When a rail is asked about an order again, should its webhooks be lost; undefined: never. Young orders are asked about
 * often, and every one at its end.
 */
export function nextCheck({ status, rail, createdAt, expiresAt, paidAt }: Checked, now: Date): Date | undefined {
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
      return rail !== 'test' && nowMs < expiresAt.getTime() + lateMs ? after(hourMs) : undefined;
    case 'paid':
      return rail === 'card' && nowMs < (paidAt ?? createdAt).getTime() + refundableMs ? after(dayMs) : undefined;
    case 'refunded':
      return undefined;
    default:
      return status satisfies never;
  }
}
