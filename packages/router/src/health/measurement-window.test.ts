import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MeasurementWindow } from './measurement-window.ts';
import { RouteTally } from './route-tally.ts';

const [a, b] = ['lab/one@acme', 'lab/one@beta'];
/** A record of this many requests, all successful and with this time to first token. */
const record = (requests: number, ttftMs = 100): string => {
  const tally = new RouteTally('r');
  for (let count = 0; count < requests; count += 1) tally.count({ success: true, ttftMs });
  return tally.toRecord();
};
const opened = (hour = 1000) => new MeasurementWindow(hour);
const requestsOf = (window: MeasurementWindow, routeId = a): number =>
  window.measurements().get(routeId)?.requests ?? 0;

describe('MeasurementWindow', () => {
  it('adds up the sources and hours of a route', () => {
    const window = opened();
    window.put(1000, 'one', a, record(3));
    window.put(1000, 'two', a, record(4));
    window.put(977, 'one', a, record(5));
    window.put(1000, 'two', b, record(6));
    expect([requestsOf(window, a), requestsOf(window, b)]).toEqual([12, 6]);
    expect(window.sumOf(a)?.requests).toBe(12);
    expect(window.tallyOf(1000, a).requests).toBe(7);
  });

  it('replaces the previous record, so that a repeat counts once', () => {
    const window = opened();
    for (const requests of [3, 3, 5]) window.put(1000, 'one', a, record(requests));
    expect(requestsOf(window)).toBe(5);
  });

  it('keeps the previous record if a new one is malformed', () => {
    const window = opened();
    window.put(1000, 'one', a, record(3));
    window.put(1000, 'one', a, 'nonsense');
    window.put(1000, 'one', b, 'nonsense');
    expect([requestsOf(window, a), window.sumOf(b)]).toEqual([3, undefined]);
  });

  it('ages by the clock: without any traffic a route loses its data hour by hour, until nothing is left', () => {
    const window = opened();
    for (const hour of window.hours) window.put(hour, 'one', a, record(1));
    const left = Array.from({ length: 25 }, (_, passed) => {
      window.advance(1000 + passed);
      return requestsOf(window);
    });
    expect(left).toEqual(Array.from({ length: 25 }, (_, passed) => 24 - passed));
    expect(window.measurements().size).toBe(0);
  });

  it('the median follows what is left', () => {
    const window = opened();
    window.put(990, 'one', a, record(30, 5000));
    window.put(1000, 'one', a, record(20, 100));
    expect(window.measurements().get(a)?.ttftMs).toBeGreaterThan(4000);
    window.advance(1014);
    expect(window.measurements().get(a)?.ttftMs).toBeLessThan(110);
  });

  it('a clock that goes back drops later hours, which count again once they are read again', () => {
    const window = opened();
    window.put(1000, 'one', a, record(3));
    window.put(999, 'one', a, record(2));
    window.advance(999);
    expect(requestsOf(window)).toBe(2);
    window.put(1000, 'one', a, record(9));
    expect(requestsOf(window)).toBe(2);
    window.advance(1000);
    window.put(1000, 'one', a, record(3));
    expect(requestsOf(window)).toBe(5);
  });

  it('takes nothing from before the window or from after it', () => {
    const window = opened();
    window.put(976, 'one', a, record(1));
    window.put(1001, 'one', a, record(1));
    expect(requestsOf(window)).toBe(0);
  });

  it('settling an hour changes nothing that can be seen, now or when it is gone', () => {
    const window = opened();
    window.put(990, 'one', a, record(3, 10));
    window.put(990, 'two', a, record(4, 9000));
    window.put(990, 'two', b, record(5));
    window.put(1000, 'one', a, record(6));
    const before = [window.sumOf(a)?.toRecord(), window.tallyOf(990, a).toRecord(), window.tallyOf(990, b).toRecord()];
    expect([...window.settle(990)]).toEqual([]);
    expect([window.sumOf(a)?.toRecord(), window.tallyOf(990, a).toRecord(), window.tallyOf(990, b).toRecord()]).toEqual(
      before,
    );
    window.advance(1020);
    expect([requestsOf(window, a), window.sumOf(b)]).toEqual([6, undefined]);
  });

  it('keeps the identity of what has not changed', () => {
    const window = opened();
    window.put(1000, 'one', a, record(20));
    window.put(1000, 'one', b, record(20));
    const first = window.measurements();
    window.put(1000, 'one', a, record(20));
    expect(window.measurements()).toBe(first);
    window.put(1000, 'one', a, record(21));
    const second = window.measurements();
    expect(second).not.toBe(first);
    expect(second.get(b)).toBe(first.get(b));
    expect(first.get(a)?.requests).toBe(20);
    window.advance(1001);
    expect(window.measurements()).toBe(second);
  });

  it('whatever comes in whatever order, it has exactly the last record of each source in the window', () => {
    const step = fc.record({
      hour: fc.integer({ min: 970, max: 1005 }),
      source: fc.constantFrom('one', 'two'),
      routeId: fc.constantFrom(a, b),
      requests: fc.integer({ min: 1, max: 9 }),
      advance: fc.option(fc.integer({ min: 990, max: 1005 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const window = opened(990);
        let now = 990;
        let expected = new Map<string, number>();
        for (const { hour, source, routeId, requests, advance } of steps) {
          if (advance !== undefined) {
            now = advance;
            window.advance(now);
          }
          const isIn = (at: number): boolean => at <= now && at > now - 24;
          expected = new Map([...expected].filter(([field]) => isIn(Number(field.split('|')[0]))));
          window.put(hour, source, routeId, record(requests));
          if (isIn(hour)) expected.set(`${hour}|${source}|${routeId}`, requests);
        }
        for (const routeId of [a, b]) {
          const mine = [...expected].filter(([field]) => field.endsWith(`|${routeId}`));
          expect(requestsOf(window, routeId)).toBe(mine.reduce((sum, [, requests]) => sum + requests, 0));
        }
      }),
    );
  });
});
