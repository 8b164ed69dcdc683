import { addDays, countDays, type Days, dayAt, hourMs, monthFrom } from '../../format/days.ts';
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
  today: lastDays(1),
  '7d': lastDays(7),
  '30d': lastDays(30),
  '90d': lastDays(90),
  month: (today) => ({ from: monthFrom(today, 0), to: today }),
  'last-month': (today) => ({ from: monthFrom(today, -1), to: addDays(monthFrom(today, 0), -1) }),
  '12m': (today) => ({ from: monthFrom(today, -11), to: today }),
};

const mostBars = 92;
const mostDaysOfHours = 2;

export type UsageStep = 'hour' | 'day' | 'month';

/** Whether a plot of these days has a bar an hour, a day, or a month. */
export const stepOf = (days: Days, mayHaveHours = false): UsageStep => {
  if (mayHaveHours && countDays(days) <= mostDaysOfHours) return 'hour';
  return countDays(days) <= mostBars ? 'day' : 'month';
};

/** The last 24 hours, the present one among them: two instants, the second one exclusive. */
export function last24Hours(now: number): Days {
  const end = (Math.floor(now / hourMs) + 1) * hourMs;
  return { from: new Date(end - 24 * hourMs).toISOString(), to: new Date(end).toISOString() };
}

/** Every hour that has begun, from a day or instant on and before another. */
export function hoursOf({ from, to }: Days, now: number): readonly string[] {
  const [start, end] = [Date.parse(from), Math.min(Date.parse(to), now)];
  const count = Math.max(0, Math.ceil((end - start) / hourMs));
  return Array.from({ length: count }, (_, index) => new Date(start + index * hourMs).toISOString());
}

/** The hours that an axis names: each sixth of a day, and of more than a day each twelfth. An axis that has less room takes every second. */
export const hourTicks = (hours: readonly string[]): readonly string[] =>
  hours.filter((hour) => new Date(hour).getUTCHours() % (hours.length > 24 ? 12 : 6) === 0);

/** Every day, or every month such as `2026-11`, of a range, in order; none if the range ends before it starts. */
export function stepsOf(days: Days): readonly string[] {
  const each = Array.from({ length: countDays(days) }, (_, index) => addDays(days.from, index));
  return stepOf(days) === 'day' ? each : [...new Set(each.map((day) => day.slice(0, 7)))];
}
