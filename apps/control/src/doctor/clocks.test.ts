import { describe, expect, it } from 'vitest';
import { compareClocks } from './clocks.ts';

const compare = (theirs: number, tookMs = 0) => compareClocks('a clock', { ours: 1_000_000, theirs, tookMs });

describe('compareClocks', () => {
  it.each([
    [1_000_000, 'ok', 'agrees with ours'],
    [998_500, 'ok', 'is 1.5 s from ours'],
    [1_003_000, 'warning', 'is 3.0 s from ours'],
    [960_000, 'wrong', 'is 40.0 s from ours'],
  ])('judges %i against 1,000,000', (theirs, verdict, found) => {
    expect(compare(theirs)).toMatchObject({ verdict, found });
  });

  it('does not take a slow answer for a clock that is wrong', () => {
    expect(compare(990_500, 10_000)).toMatchObject({ verdict: 'ok' });
  });
});
