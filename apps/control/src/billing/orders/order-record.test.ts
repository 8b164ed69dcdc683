import { describe, expect, it } from 'vitest';
import { nextCheck } from './order-record.ts';

const at = (minutes: number): Date => new Date(Date.UTC(2026, 10, 21) + minutes * 60_000);
const minutesUntil = (
  status: 'created' | 'pending' | 'paid' | 'failed' | 'expired' | 'refunded',
  nowMinutes: number,
  rail: 'card' | 'crypto' | 'test' = 'card',
  said: { readonly processing?: boolean } = {},
): number | undefined => {
  const order = { status, rail, createdAt: at(0), expiresAt: at(60), paidAt: status === 'paid' ? at(1) : undefined };
  const next = nextCheck(order, at(nowMinutes), said);
  return next && (next.getTime() - at(nowMinutes).getTime()) / 60_000;
};

describe('the next check of an order', () => {
  it('comes soon while it is young, later as it ages, and exactly at its end', () => {
    expect(minutesUntil('pending', 0)).toBe(0.5);
    expect(minutesUntil('pending', 4)).toBe(4);
    expect(minutesUntil('pending', 30)).toBe(10);
    expect(minutesUntil('pending', 57)).toBe(3);
    expect(minutesUntil('pending', 60)).toBe(1);
  });

  it('still comes for two days after an end without payment, and then never', () => {
    expect(minutesUntil('expired', 61, 'crypto')).toBe(60);
    expect(minutesUntil('expired', 60 + 48 * 60)).toBeUndefined();
    expect(minutesUntil('failed', 61, 'test')).toBeUndefined();
  });

  it('goes on while a late payment of an expired order is being confirmed', () => {
    const processing = { processing: true };
    expect(minutesUntil('expired', 60 + 480 * 60, 'crypto', processing)).toBe(60);
    // A checkout whose payment has failed may say so for good.
    expect(minutesUntil('failed', 60 + 480 * 60, 'card', processing)).toBeUndefined();
  });

  it('comes daily for card payments, which can be refunded at Stripe for months', () => {
    expect(minutesUntil('paid', 2)).toBe(24 * 60);
    expect(minutesUntil('paid', 2, 'crypto')).toBeUndefined();
    expect(minutesUntil('paid', 121 * 24 * 60)).toBeUndefined();
    expect(minutesUntil('refunded', 2)).toBeUndefined();
  });
});
