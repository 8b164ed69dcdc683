import { expect, it } from 'vitest';
import { changeOf, daysBefore } from './period-before.ts';

it('the period before has as many days, and ends the day before', () => {
  expect(daysBefore({ from: '2026-03-01', to: '2026-03-31' })).toEqual({ from: '2026-01-29', to: '2026-02-28' });
  expect(daysBefore({ from: '2026-03-01', to: '2026-03-01' })).toEqual({ from: '2026-02-28', to: '2026-02-28' });
});

it.each([
  [150, 100, '+50%'],
  [90, 100, '−10%'],
  [100, 100, '±0%'],
  [5, 0, undefined],
])('%d after %d is %s', (now, before, change) => {
  expect(changeOf(now, before)).toBe(change);
});
