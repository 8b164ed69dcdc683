import { expect, it } from 'vitest';
import { changeOf, comparedDays } from './period-before.ts';

const today = '2026-03-15';

it.each([
  // Today is not over.
  [{}, '2026-02-14', '2026-03-14', '2026-01-16', '2026-02-13'],
  [{ range: '7d' }, '2026-03-09', '2026-03-14', '2026-03-03', '2026-03-08'],
  [{ range: 'month' }, '2026-03-01', '2026-03-14', '2026-02-01', '2026-02-14'],
  [{ range: 'last-month' }, '2026-02-01', '2026-02-28', '2026-01-01', '2026-01-31'],
  [{ from: '2026-03-01', to: '2026-03-04' }, '2026-03-01', '2026-03-04', '2026-02-25', '2026-02-28'],
  [{ range: 'month', from: '2026-03-14', to: today }, '2026-03-14', '2026-03-14', '2026-03-13', '2026-03-13'],
] as const)('%j compares the complete days %s to %s with %s to %s', (search, from, to, fromBefore, toBefore) => {
  expect(comparedDays(search, today)).toEqual({ now: { from, to }, before: { from: fromBefore, to: toBefore } });
});

it('a month is compared with no more days than the month before has', () => {
  expect(comparedDays({ range: 'month' }, '2026-03-31')?.before).toEqual({ from: '2026-02-01', to: '2026-02-28' });
});

it('a range without a complete day is compared with nothing', () => {
  expect(comparedDays({ range: 'month' }, '2026-03-01')).toBeUndefined();
  expect(comparedDays({ from: today, to: today }, today)).toBeUndefined();
  expect(comparedDays({ from: '2026-03-05', to: '2026-03-04' }, today)).toBeUndefined();
});

it.each([
  [150, 100, '+50%'],
  [90, 100, '−10%'],
  [100, 100, '±0%'],
  [5, 0, undefined],
])('%d after %d is %s', (now, before, change) => {
  expect(changeOf(now, before)).toBe(change);
});
