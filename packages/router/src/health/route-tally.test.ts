import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MeasuredAttempt } from './measured-attempt.ts';
import { RouteTally } from './route-tally.ts';

const counted = (...attempts: MeasuredAttempt[]): RouteTally => {
  const tally = new RouteTally('lab/one@acme/eu');
  for (const attempt of attempts) tally.count(attempt);
  return tally;
};
const first = (ttftMs: number): MeasuredAttempt => ({ success: true, ttftMs });
const attempts = fc.array(
  fc.record({
    success: fc.boolean(),
    ttftMs: fc.option(fc.double({ min: 0, max: 1e7, noNaN: true }), { nil: undefined }),
    tokensPerSecond: fc.option(fc.double({ min: 0, max: 1e4, noNaN: true }), { nil: undefined }),
    wholeMs: fc.option(fc.double({ min: 0, max: 1e7, noNaN: true }), { nil: undefined }),
    wholeTokensPerSecond: fc.option(fc.double({ min: 0, max: 1e4, noNaN: true }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe('RouteTally', () => {
  it('counts requests, successes, and each figure apart', () => {
    const many = Array.from({ length: 10 }, () => ({ success: true, ttftMs: 1000, tokensPerSecond: 50 }));
    const tally = counted(...many, { success: false });
    expect(tally).toMatchObject({ requests: 11, successes: 10 });
    expect(tally.percentile('ttftMs', 50)).toBeGreaterThan(950);
    expect(tally.percentile('tokensPerSecond', 50)).toBeLessThan(53);
    expect(tally.percentile('wholeMs', 50)).toBeUndefined();
  });

  it('has no percentile of fewer than ten answers', () => {
    expect(counted(...Array.from({ length: 9 }, () => first(5))).percentile('ttftMs', 50)).toBeUndefined();
    expect(counted(...Array.from({ length: 10 }, () => first(5))).percentile('ttftMs', 50)).toBeCloseTo(5, 0);
  });

  it('gives every percentile to within five per cent and a decimal', () => {
    const samples = fc.array(fc.integer({ min: 1, max: 3_600_000 }), { minLength: 10, maxLength: 60 });
    fc.assert(
      fc.property(samples, fc.constantFrom(50, 90, 99), (values, percentile) => {
        const found = counted(...values.map(first)).percentile('ttftMs', percentile);
        const sorted = [...values].sort((a, b) => a - b);
        const exact = sorted[Math.ceil((values.length * percentile) / 100) - 1] ?? 0;
        expect(found).toBeGreaterThanOrEqual(exact / 1.05 - 0.1);
        expect(found).toBeLessThanOrEqual(exact * 1.05 + 0.1);
      }),
    );
  });

  it('adds up as if everything had been counted at one place, and takes away again without a trace', () => {
    fc.assert(
      fc.property(attempts, attempts, (here, there) => {
        const sum = new RouteTally('r');
        for (const part of [here, there]) expect(sum.combine(counted(...part).toRecord())).toBe(true);
        expect(sum.toRecord()).toBe(counted(...here, ...there).toRecord());
        sum.combine(counted(...there).toRecord(), -1);
        expect(sum.toRecord().replaceAll(';', '')).toBe(
          counted(...here)
            .toRecord()
            .replaceAll(';', ''),
        );
      }),
    );
  });

  it('has a record of bounded size, whatever is measured', () => {
    const tally = new RouteTally('r');
    for (let power = -300; power < 1000; power += 1) {
      const value = 1.5 ** power;
      tally.count({
        success: true,
        ttftMs: value,
        tokensPerSecond: value,
        wholeMs: value,
        wholeTokensPerSecond: value,
      });
    }
    expect(tally.toRecord().length).toBeLessThan(4 * 171 * 9);
    expect(tally.requests).toBe(1300);
  });

  it.each([
    '',
    'nonsense',
    '1',
    '0;0;;;;',
    '1;2;;;;',
    '-1;0;;;;',
    '1;1;171:1;;;',
    '1;1;5;;;',
    '1;1;5:;;;',
    '1;1;:5;;;',
    '1;1;5:1:1;;;',
    '1;1;5:1,;;;',
    '1;1;5:1.5;;;',
    '1;1;5:99999999999;;;',
    '1e3;1;;;;',
    '1,1;;;;',
  ])('ignores %j, which is not a record', (text) => {
    const tally = counted(first(100));
    const before = tally.toRecord();
    expect(tally.combine(text)).toBe(false);
    expect(tally.toRecord()).toBe(before);
  });

  it('leaves out figures that a later version added', () => {
    const tally = new RouteTally('r');
    expect(tally.combine('1;1;5:1;;;;9:1,10:1;')).toBe(true);
    expect(tally.toRecord()).toBe('1;1;5:1;;;');
  });
});
