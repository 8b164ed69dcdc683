import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyOrderEvent,
  type OrderEffect,
  type OrderEvent,
  type OrderFunds,
  orderStatuses,
  orderTotal,
  returnedNusd,
  topUpFee,
} from './order.ts';

const fresh = (amountNusd: bigint, feeNusd: bigint): OrderFunds => ({
  status: 'created',
  amountNusd,
  feeNusd,
  payment: undefined,
  refundedNusd: 0n,
  disputedNusd: 0n,
});
const paid = (order: OrderFunds, payment = 'p1'): OrderEvent => ({
  type: 'paid',
  payment,
  paidNusd: orderTotal(order),
  currency: 'USD',
});

interface Run {
  readonly order: OrderFunds;
  readonly effects: readonly OrderEffect[];
}
const run = (start: OrderFunds, events: readonly OrderEvent[]): Run =>
  events.reduce<Run>(
    ({ order, effects }, event) => {
      const step = applyOrderEvent(order, event);
      return { order: step.order, effects: [...effects, ...step.effects] };
    },
    { order: start, effects: [] },
  );
const credits = ({ effects }: Run) => effects.filter((effect) => effect.type === 'credit');
const debits = ({ effects }: Run) => effects.filter((effect) => effect.type === 'debit');
const debited = (result: Run): bigint => debits(result).reduce((sum, { amountNusd }) => sum + amountNusd, 0n);
const flags = ({ effects }: Run) => effects.flatMap((effect) => (effect.type === 'flag' ? [effect.flag] : []));

const order = fresh(25_000_000_000n, 1_250_000_000n);
const total = orderTotal(order);
const refunded = (totalNusd: bigint): OrderEvent => ({ type: 'refunded', totalNusd });

const anyAmount = fc.bigInt(1n, 10n ** 13n);
const anyOrder = fc.record({ amount: anyAmount, fee: fc.bigInt(0n, 10n ** 12n) });
/** Any event that a rail may report about an order of this total, mostly true ones. */
const anyEvent = (amount: bigint): fc.Arbitrary<OrderEvent> =>
  fc.oneof(
    fc.constantFrom<OrderEvent>({ type: 'opened' }, { type: 'failed' }, { type: 'expired' }, { type: 'dispute_won' }),
    fc.record({
      type: fc.constant('paid' as const),
      payment: fc.constantFrom('p1', 'p1', 'p2'),
      paidNusd: fc.oneof({ weight: 3, arbitrary: fc.constant(amount) }, { weight: 1, arbitrary: anyAmount }),
      currency: fc.constantFrom('USD', 'USD', 'USD', 'EUR'),
    }),
    fc.record({ type: fc.constantFrom('refunded' as const, 'dispute_lost' as const), totalNusd: anyAmount }),
    fc.record({
      type: fc.constant('noticed' as const),
      flag: fc.constantFrom('disputed' as const, 'overpaid' as const),
    }),
  );
const history = anyOrder.chain(({ amount, fee }) =>
  fc.tuple(fc.constant(fresh(amount, fee)), fc.array(anyEvent(amount + fee), { maxLength: 12 })),
);

describe('an order', () => {
  it('is credited at most once, and debited at most its credit, for any events in any order', () => {
    fc.assert(
      fc.property(history, ([start, events]) => {
        const result = run(start, events);
        expect(credits(result).length).toBeLessThanOrEqual(1);
        const credit = credits(result)[0]?.amountNusd ?? 0n;
        expect(debited(result) <= credit).toBe(true);
        for (const { amountNusd, feeNusd } of debits(result)) {
          expect(amountNusd >= 0n && feeNusd >= 0n && amountNusd + feeNusd > 0n).toBe(true);
        }
      }),
    );
  });

  it('keeps its credit, except for the exact share of refunds and disputes', () => {
    fc.assert(
      fc.property(history, ([start, events]) => {
        const result = run(start, events);
        const isCredited = result.order.status === 'paid' || result.order.status === 'refunded';
        expect(isCredited).toBe(credits(result).length === 1);
        if (!isCredited) return;
        const returned = returnedNusd(result.order);
        expect(debited(result)).toBe((start.amountNusd * returned) / orderTotal(start));
        const fees = debits(result).reduce((sum, { feeNusd }) => sum + feeNusd, 0n);
        expect(debited(result) + fees).toBe(returned);
        expect(result.order.status === 'refunded').toBe(returned === orderTotal(start));
      }),
    );
  });

  it('ignores a repeated event', () => {
    fc.assert(
      fc.property(history, ([start, events]) => {
        const once = run(start, events);
        const twice = run(
          start,
          events.flatMap((event) => [event, event]),
        );
        expect(twice.order).toEqual(once.order);
        const moneyOf = ({ effects }: Run) => effects.filter(({ type }) => type !== 'flag');
        expect(moneyOf(twice)).toEqual(moneyOf(once));
      }),
    );
  });

  it('ends in the same state for true reports in any order', () => {
    const reports: OrderEvent[] = [
      { type: 'opened' },
      paid(order),
      paid(order),
      { type: 'expired' },
      { type: 'failed' },
      refunded(1_000_000_000n),
      refunded(7_000_000_000n),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(reports, { minLength: reports.length }), (shuffled) => {
        const result = run(order, shuffled);
        expect(result.order).toMatchObject({ status: 'paid', refundedNusd: 7_000_000_000n });
        expect(credits(result)).toHaveLength(1);
        expect(debited(result)).toBe((order.amountNusd * 7_000_000_000n) / total);
      }),
    );
  });

  it('handles every event in every state', () => {
    const events: OrderEvent[] = [
      { type: 'opened' },
      paid(order),
      { type: 'failed' },
      { type: 'expired' },
      refunded(1n),
      { type: 'dispute_lost', totalNusd: 1n },
      { type: 'dispute_won' },
      { type: 'noticed', flag: 'disputed' },
    ];
    for (const status of orderStatuses) {
      for (const event of events) {
        const step = applyOrderEvent({ ...order, status, payment: 'p1' }, event);
        expect(orderStatuses).toContain(step.order.status);
      }
    }
  });

  it('is credited when the money arrives late, after it failed or expired', () => {
    for (const end of ['failed', 'expired'] as const) {
      const late = run(order, [{ type: 'opened' }, { type: end }, paid(order)]);
      expect(late.order.status).toBe('paid');
      expect(credits(late)).toEqual([{ type: 'credit', amountNusd: order.amountNusd, feeNusd: order.feeNusd }]);
    }
  });

  it('neither fails nor expires after the payment', () => {
    expect(run(order, [paid(order), { type: 'expired' }, { type: 'failed' }, { type: 'opened' }]).order.status).toBe(
      'paid',
    );
  });

  it('credits nothing if amount or currency differ, and reports it', () => {
    const less = run(order, [{ type: 'opened' }, { ...paid(order), paidNusd: total - 1n } as OrderEvent]);
    expect([less.order.status, flags(less), credits(less)]).toEqual(['failed', ['amount_differs'], []]);
    const euro = run(order, [{ type: 'opened' }, { ...paid(order), currency: 'EUR' } as OrderEvent]);
    expect([euro.order.status, flags(euro), credits(euro)]).toEqual(['failed', ['currency_differs'], []]);
  });

  it('credits nothing for a second payment, and reports it', () => {
    const twice = run(order, [paid(order, 'p1'), paid(order, 'p2')]);
    expect(credits(twice)).toHaveLength(1);
    expect(flags(twice)).toEqual(['paid_twice']);
  });

  it('adds refunds and lost disputes, up to the payment', () => {
    const both = run(order, [paid(order), refunded(total), { type: 'dispute_lost', totalNusd: total }]);
    expect(both.order.status).toBe('refunded');
    expect(debited(both)).toBe(order.amountNusd);
  });

  it('credits and takes back at once if the refund arrives before the payment', () => {
    const overtaken = run(order, [refunded(total), paid(order)]);
    expect(overtaken.order.status).toBe('refunded');
    expect(overtaken.effects.map(({ type }) => type)).toEqual(['credit', 'debit']);
  });
});

describe('the fee of a top-up', () => {
  const cents = (count: number): bigint => BigInt(count) * 10_000_000n;
  const terms = { milliPercent: 5_500n, fixedNusd: cents(30), minimumNusd: cents(80) };

  it('is a percentage plus a fixed part, rounded up to the cent, and at least the minimum', () => {
    expect(topUpFee(cents(10_000), terms)).toBe(cents(580));
    expect(topUpFee(cents(2_500), terms)).toBe(cents(168));
    expect(topUpFee(cents(500), terms)).toBe(cents(80));
    expect(topUpFee(cents(1_000), { milliPercent: 0n, fixedNusd: 0n, minimumNusd: 0n })).toBe(0n);
  });

  it('is always whole cents, and less than a cent above the exact one', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(50_000), fc.nat(1000), (amount, milliPercent, fixed) => {
        const fee = topUpFee(cents(amount), {
          milliPercent: BigInt(milliPercent),
          fixedNusd: cents(fixed),
          minimumNusd: 0n,
        });
        const exact = cents(amount) * BigInt(milliPercent) + cents(fixed) * 100_000n;
        expect(fee % cents(1)).toBe(0n);
        expect(fee * 100_000n >= exact && fee * 100_000n - exact < cents(1) * 100_000n).toBe(true);
      }),
    );
  });
});
