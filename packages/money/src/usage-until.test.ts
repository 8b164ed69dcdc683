import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noUsage } from './cost.ts';
import { usageUntil } from './usage-until.ts';

const usage = { ...noUsage, promptTokens: 10, cachedTokens: 4, completionTokens: 100, reasoningTokens: 60 };
const until = (part: Partial<Parameters<typeof usageUntil>[1]>) =>
  usageUntil(usage, { takenBytes: 400, coveredBytes: 400, hiddenTokens: 0, ...part });

describe('the usage until a client left', () => {
  it('is all of it if nothing was produced afterwards', () => {
    expect(until({})).toEqual(usage);
  });

  it('is the share of the text that the client took', () => {
    expect(until({ takenBytes: 100 })).toEqual({ ...usage, completionTokens: 25, reasoningTokens: 25 });
    expect(until({ takenBytes: 1 }).completionTokens).toBe(1);
  });

  it('is at most one token for each byte that the client took', () => {
    expect(until({ takenBytes: 7, coveredBytes: 7 }).completionTokens).toBe(7);
    expect(until({ takenBytes: 0 }).completionTokens).toBe(0);
  });

  it('includes all output that was not shown', () => {
    expect(until({ takenBytes: 100, hiddenTokens: 60 })).toMatchObject({ completionTokens: 70, reasoningTokens: 60 });
    expect(until({ takenBytes: 0, hiddenTokens: 1000 }).completionTokens).toBe(100);
  });

  it('never exceeds the report, and never falls as the client takes more', () => {
    const count = fc.nat({ max: 1_000_000 });
    fc.assert(
      fc.property(count, count, count, count, count, (completionTokens, covered, one, other, hiddenTokens) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        const at = (takenBytes: number): number =>
          usageUntil(
            { ...usage, completionTokens },
            { takenBytes, hiddenTokens, coveredBytes: Math.max(covered, more) },
          ).completionTokens;
        expect(at(less)).toBeLessThanOrEqual(at(more));
        expect(at(more)).toBeLessThanOrEqual(completionTokens);
        expect(at(less)).toBeLessThanOrEqual(less + Math.min(hiddenTokens, completionTokens));
      }),
    );
  });
});
