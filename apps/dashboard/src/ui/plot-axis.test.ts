import { describe, expect, it } from 'vitest';
import { formatCompact, formatExactUsd, formatMs } from '../format/format.ts';
import { roundTicks } from './plot-parts.ts';

const mosts = [0.7, 1.4, 3, 9, 14, 85, 140, 999, 1400, 2600, 14_000, 850_000];

/** The number that a label states, in its unit. */
const stated = (label: string): number => {
  const [, number = '', unit = ''] = /^([\d.,]+)(.*)$/.exec(label) ?? [];
  return Number.parseFloat(number.replaceAll(',', '')) * (units[unit] ?? 1);
};

const units: Readonly<Record<string, number>> = { K: 1000, M: 1e6, ' s': 1000 };

describe('the ticks of an axis', () => {
  it.each([
    [0, false, [0, 1]],
    [1, false, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0.07, false, [0, 0.02, 0.04, 0.06, 0.08]],
    [9.82, false, [0, 2, 4, 6, 8, 10]],
    [10.1, false, [0, 2.5, 5, 7.5, 10, 12.5]],
    [13, true, [0, 5, 10, 15]],
    [2, true, [0, 1, 2]],
    [2_600, true, [0, 1000, 2000, 3000]],
  ])('up to %f (a count: %s) are %j', (most, isCount, ticks) => {
    expect(roundTicks(most, isCount)).toEqual(ticks);
  });
});

describe('the labels of an axis', () => {
  it.each(mosts)('of durations up to %d ms differ, and are true', (most) => {
    const ticks = roundTicks(most, false);
    const labels = ticks.map((tick) => formatMs(tick));
    expect(new Set(labels).size).toBe(ticks.length);
    for (const [place, tick] of ticks.entries()) expect(stated(labels[place] ?? '')).toBeCloseTo(tick, 6);
  });

  it.each([0.000_000_9, 0.000_002, 0.0007, 0.11, 224, 85_000])(
    'of amounts up to %d USD differ, and are true',
    (most) => {
      const ticks = roundTicks(most, false);
      const labels = ticks.map((tick) => formatExactUsd(tick));
      expect(new Set(labels).size).toBe(ticks.length);
      for (const [place, tick] of ticks.entries()) expect(stated((labels[place] ?? '').slice(1))).toBeCloseTo(tick, 9);
    },
  );

  it.each(mosts.filter((most) => most >= 3))('of counts up to %d differ, and are true', (most) => {
    const ticks = roundTicks(most, true);
    const labels = ticks.map((tick) => formatCompact(tick));
    expect(new Set(labels).size).toBe(ticks.length);
    for (const [place, tick] of ticks.entries()) expect(stated(labels[place] ?? '')).toBeCloseTo(tick, 6);
  });
});
