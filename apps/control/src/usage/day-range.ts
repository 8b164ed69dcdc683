import { ServiceError } from '@sotto/wire';

const dayMs = 86_400_000;
const hourMs = 3_600_000;

interface Asked {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** Whole UTC days, as Unix days: `from` inclusive, `to` exclusive. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/** Whole UTC hours: `from` inclusive, `to` exclusive. */
export interface HourRange {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Returns the days of a query. The default is 30 days including today. Throws `invalid_request` for an empty range and
 * for more than 400 days.
 */
export const dayRange = (asked: Asked, nowMs: number): DayRange =>
  rangeOf(asked, nowMs, { unitMs: dayMs, usual: 30, mostDays: 400, end: 'the end of today' });

/**
 * Returns the whole UTC hours of a query, as `dayRange` does. The default is the last 24 hours and the present one. Throws
 * `invalid_request` for more than `mostDays`, too.
 */
export function hourRange(asked: Asked, nowMs: number, mostDays: number): HourRange {
  const { from, to } = rangeOf(asked, nowMs, { unitMs: hourMs, usual: 25, mostDays, end: 'now' });
  return { from: new Date(from * hourMs), to: new Date(to * hourMs) };
}

/** Returns a range in units. `usual` is its length without `from`, and `end` says what it ends at without `to`. */
function rangeOf(
  { from, to }: Asked,
  nowMs: number,
  { unitMs, usual, mostDays, end }: { unitMs: number; usual: number; mostDays: number; end: string },
): DayRange {
  const until = to === undefined ? Math.floor(nowMs / unitMs) + 1 : Math.ceil(to.getTime() / unitMs);
  const begin = from === undefined ? until - usual : Math.floor(from.getTime() / unitMs);
  const refused = (message: string) => new ServiceError('invalid_request', { message, param: 'from' });
  if (begin >= until) throw refused(`\`from\` must be earlier than \`to\`, which is ${end} where it is absent.`);
  if ((until - begin) * unitMs > mostDays * dayMs)
    throw refused(
      `\`from\` must be at most ${mostDays} days before \`to\`${unitMs === hourMs ? ' for counts by hour' : ''}.`,
    );
  return { from: begin, to: until };
}

/** Formats a Unix day as `YYYY-MM-DD`. */
export const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

const monthOf = (day: number): string => dateOf(day).slice(0, 7);

/** Cuts a range into pieces of at most seven days, in order. */
export function weeksOf({ from, to }: DayRange): DayRange[] {
  const starts = Array.from({ length: Math.ceil((to - from) / 7) }, (_, index) => from + index * 7);
  return starts.map((start) => ({ from: start, to: Math.min(start + 7, to) }));
}

/** Cuts a range at the beginnings of months, in order. */
export function monthsOf({ from, to }: DayRange): DayRange[] {
  const starts = Array.from({ length: to - from }, (_, index) => from + index).filter(
    (day) => day === from || monthOf(day) !== monthOf(day - 1),
  );
  return starts.map((start, index) => ({ from: start, to: starts[index + 1] ?? to }));
}
