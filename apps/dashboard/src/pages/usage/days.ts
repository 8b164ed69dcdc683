import { addDays, countDays, type Days, dayAt, monthFrom } from '../../format/days.ts';
import type { UsageRange, UsageSearch } from './usage-search.ts';

/** The days that the overview reads: the previous month and this one, and never fewer than the last 30 days. */
export function overviewDays(now: number): { readonly from: string; readonly last30: string; readonly to: string } {
  const today = dayAt(now);
  return { from: monthFrom(today, -1), last30: addDays(today, -29), to: addDays(today, 1) };
}

/** The days that a search selects. `today` is a UTC day. */
export function daysOf({ range = '30d', from, to }: UsageSearch, today: string): Days {
  return from !== undefined && to !== undefined ? { from, to } : presets[range](today);
}

const lastDays =
  (count: number) =>
  (today: string): Days => ({ from: addDays(today, 1 - count), to: today });

const presets: Readonly<Record<UsageRange, (today: string) => Days>> = {
  '7d': lastDays(7),
  '30d': lastDays(30),
  '90d': lastDays(90),
  month: (today) => ({ from: monthFrom(today, 0), to: today }),
  'last-month': (today) => ({ from: monthFrom(today, -1), to: addDays(monthFrom(today, 0), -1) }),
  '12m': (today) => ({ from: monthFrom(today, -11), to: today }),
};

const mostBars = 92;

/** Whether a plot of these days has a bar a day, or a month. */
export const stepOf = (days: Days): 'day' | 'month' => (countDays(days) <= mostBars ? 'day' : 'month');

/** Every day, or every month such as `2026-11`, of a range, in order; none if the range ends before it starts. */
export function stepsOf(days: Days): readonly string[] {
  const each = Array.from({ length: countDays(days) }, (_, index) => addDays(days.from, index));
  return stepOf(days) === 'day' ? each : [...new Set(each.map((day) => day.slice(0, 7)))];
}
