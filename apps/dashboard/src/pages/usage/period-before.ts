import { addDays, countDays, type Days, monthFrom } from '../../format/days.ts';
import { formatShare } from '../../format/format.ts';
import { daysOf } from './days.ts';
import type { UsageSearch } from './usage-search.ts';

/** Two periods, whose sums can be compared. */
interface Compared {
  readonly now: Days;
  readonly before: Days;
}

/**
 * The complete days of a search, and those that they are compared with: in a month the same days of the month before, a whole
 * month with the whole one before, otherwise as many days just before. Undefined if no day of the search is complete.
 */
export function comparedDays(search: UsageSearch, today: string): Compared | undefined {
  const { from, to } = daysOf(search, today);
  const now = { from, to: to < today ? to : addDays(today, -1) };
  const count = countDays(now);
  if (count === 0) return undefined;
  const last = addDays(from, -1);
  const isMonth = search.from === undefined && (search.range === 'month' || search.range === 'last-month');
  if (!isMonth) return { now, before: { from: addDays(from, -count), to: last } };
  const start = monthFrom(from, -1);
  const same = addDays(start, count - 1);
  return { now, before: { from: start, to: search.range === 'last-month' || same > last ? last : same } };
}

/** How a sum changed from the period before: "+12.5%". Undefined if there was nothing before. */
export function changeOf(now: number, before: number): string | undefined {
  if (before === 0) return undefined;
  const change = now / before - 1;
  return `${change > 0 ? '+' : change < 0 ? '−' : '±'}${formatShare(Math.abs(change))}`;
}
