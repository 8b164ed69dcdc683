import { describe, expect, it } from 'vitest';
import { measurementOf, reliable } from './measurement.ts';
import { RouteTally } from './route-tally.ts';

const measured = (requests: number) => ({ requests, successes: 1, ttftMs: 100, tokensPerSecond: 50 });

describe('reliable', () => {
  it('believes a measurement from 20 recent requests on', () => {
    expect(reliable(new Map([['a', measured(19)]]), 'a')).toBeUndefined();
    expect(reliable(new Map([['a', measured(20)]]), 'a')).toEqual(measured(20));
  });

  it('returns nothing for a route that was never measured', () => {
    expect(reliable(new Map([['a', measured(99)]]), 'b')).toBeUndefined();
  });
});

describe('measurementOf', () => {
  const tallied = (...attempts: Parameters<RouteTally['count']>[0][]) => {
    const tally = new RouteTally('r');
    for (const attempt of attempts) for (let count = 0; count < 10; count += 1) tally.count(attempt);
    return measurementOf(tally);
  };

  it('gives ordering counts and the medians of streams; whole answers are kept apart', () => {
    const found = tallied(
      { success: true, ttftMs: 100, tokensPerSecond: 80 },
      { success: true, wholeMs: 9000, wholeTokensPerSecond: 5 },
      { success: false },
    );
    expect(found).toMatchObject({ requests: 30, successes: 20 });
    expect([found.ttftMs, found.tokensPerSecond]).toEqual([expect.closeTo(100, -1), expect.closeTo(80, -1)]);
    expect(found.atLeast?.ttftMs).toBeGreaterThan(8500);
    expect(found.atLeast?.tokensPerSecond).toBeLessThan(5.5);
  });

  it('leaves what was never measured undefined', () => {
    const none = { ttftMs: undefined, tokensPerSecond: undefined };
    expect(tallied({ success: true })).toEqual({ requests: 10, successes: 10, ...none });
  });
});
