import type { UsageRange, UsageSearch } from './usage-search.ts';

const dayMs = 86_400_000;

/** UTC days such as `2026-11-21`, both inclusive. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The UTC minute of an instant in Unix ms. */
export const minuteAt = (unixMs: number): string => `${new Date(unixMs).toISOString().slice(0, 16)}Z`;

/** The UTC day of an instant in Unix ms. */
export const dayAt = (unixMs: number): string => new Date(unixMs).toISOString().slice(0, 10);

/** The day so many days later. */
export const addDays = (day: string, count: number): string => dayAt(Date.parse(day) + count * dayMs);

/** The first day of the month so many months later. */
export function monthFrom(day: string, count: number): string {
  const [year = 0, month = 1] = day.split('-').map(Number);
  return dayAt(Date.UTC(year, month - 1 + count, 1));
}

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

const countDays = ({ from, to }: Days): number => Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;

/** Every day, or every month such as `2026-11`, of a range, in order; none if the range ends before it starts. */
export function stepsOf(days: Days): readonly string[] {
  const each = Array.from({ length: Math.max(0, countDays(days)) }, (_, index) => addDays(days.from, index));
  return stepOf(days) === 'day' ? each : [...new Set(each.map((day) => day.slice(0, 7)))];
}
