import { expect, it } from 'vitest';
import type { UsageRow } from '../../api/usage.ts';
import { arrivalsOf } from './use-arrivals.ts';

const now = Date.parse('2026-03-11T10:30:20Z');
const row = (id: string, minute = '10:20'): UsageRow => ({ id, at: `2026-03-11T${minute}:00Z` }) as UsageRow;
const ids = (newest: readonly UsageRow[], listed: readonly UsageRow[]) => {
  const { arrived, isMore } = arrivalsOf(newest, listed, now);
  return [arrived.map(({ id }) => id).join(''), isMore];
};

it('new rows are those of completed minutes that are not listed', () => {
  expect(ids([row('d', '10:30'), row('c', '10:29'), row('b'), row('a')], [row('b'), row('a')])).toEqual(['c', false]);
  expect(ids([row('b'), row('a')], [row('b'), row('a')])).toEqual(['', false]);
  expect(ids([row('a')], [])).toEqual(['a', false]);
});

it('more rows are between where the newest do not reach to the listed ones', () => {
  expect(ids([row('e'), row('d')], [row('b'), row('a')])).toEqual(['ed', true]);
  expect(ids([], [row('b')])).toEqual(['', false]);
});
