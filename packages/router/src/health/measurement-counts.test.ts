import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counts, countAttempt, type MeasuredAttempt, measurementsOf, summarize } from './measurement-counts.ts';

const counted = (...attempts: Omit<MeasuredAttempt, 'routeId'>[]): Counts => {
  const counts = new Map<string, number>();
  for (const attempt of attempts) countAttempt(counts, { routeId: 'lab/one@acme/eu', ...attempt });
  return counts;
};
const statistics = (...hours: Counts[]) => {
  const found = summarize(hours).get('lab/one@acme/eu');
  if (found === undefined) throw new Error('the route was not measured');
  return found;
};

describe('measurement counts', () => {
  it('add up attempts and successes over hours and brokers', () => {
    const hour = counted({ success: true }, { success: false });
    expect(statistics(hour, counted({ success: true }))).toMatchObject({ requests: 3, successes: 2 });
  });

  it('keep routes apart', () => {
    const counts = new Map<string, number>();
    countAttempt(counts, { routeId: 'a|b@c', success: true, ttftMs: 100 });
    countAttempt(counts, { routeId: 'a@c', success: false });
    const routes = summarize([counts]);
    expect([...routes.keys()].sort()).toEqual(['a@c', 'a|b@c']);
    expect(routes.get('a|b@c')).toMatchObject({ requests: 1, successes: 1 });
    expect(routes.get('a@c')?.ttftMs(50)).toBeUndefined();
  });

  it('know no percentile where nothing was measured', () => {
    const nothing = statistics(counted({ success: false }));
    expect(nothing.ttftMs(50)).toBeUndefined();
    expect(nothing.tokensPerSecond(50)).toBeUndefined();
  });

  it('keep the two histograms apart', () => {
    const found = statistics(counted({ success: true, ttftMs: 1000, tokensPerSecond: 50 }));
    expect(found.ttftMs(50)).toBeGreaterThan(900);
    expect(found.tokensPerSecond(50)).toBeLessThan(55);
  });

  it('give every percentile to within the ten per cent of a step', () => {
    const samples = fc.array(fc.integer({ min: 1, max: 3_600_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(samples, fc.constantFrom(50, 90, 99), (values, percentile) => {
        const found = statistics(counted(...values.map((ttftMs) => ({ success: true, ttftMs }))));
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.ceil((values.length * percentile) / 100) - 1] ?? 0;
        expect(found.ttftMs(percentile)).toBeGreaterThanOrEqual(exact / 1.1 - 0.1);
        expect(found.ttftMs(percentile)).toBeLessThanOrEqual(exact * 1.1 + 0.1);
      }),
      { numRuns: 200 },
    );
  });

  it('bound the number of fields of a route, whatever is measured', () => {
    const counts = new Map<string, number>();
    for (let power = -20; power < 300; power += 1) {
      countAttempt(counts, { routeId: 'r', success: true, ttftMs: 1.2 ** power, tokensPerSecond: 1.2 ** power });
    }
    expect(counts.size).toBeLessThanOrEqual(2 + 2 * 171);
    expect(summarize([counts]).get('r')?.requests).toBe(320);
  });
});

describe('measurementsOf', () => {
  it('gives ordering the medians and counts of each route', () => {
    const fast = { success: true, ttftMs: 100, tokensPerSecond: 80 };
    const slow = { success: true, ttftMs: 9000, tokensPerSecond: 5 };
    const found = measurementsOf([counted(fast, fast), counted(slow, { success: false })]).get('lab/one@acme/eu');
    expect(found).toMatchObject({ requests: 4, successes: 3 });
    expect(found?.ttftMs).toBeGreaterThan(95);
    expect(found?.ttftMs).toBeLessThan(105);
    expect(found?.tokensPerSecond).toBeGreaterThan(76);
    expect(found?.tokensPerSecond).toBeLessThan(84);
  });

  it('leaves what was never measured undefined', () => {
    expect(measurementsOf([counted({ success: true })]).get('lab/one@acme/eu')).toEqual({
      requests: 1,
      successes: 1,
      ttftMs: undefined,
      tokensPerSecond: undefined,
    });
    expect(measurementsOf([]).size).toBe(0);
  });
});
