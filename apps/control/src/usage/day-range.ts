import type { UsageDailyQuery } from '@sotto/contract/control/usage';
import { ServiceError } from '@sotto/wire';

const dayMs = 86_400_000;
const defaultDays = 30;
const maxDays = 400;

/** Whole UTC days, as Unix days: `from` inclusive, `to` exclusive. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns the days of a query. The default is 30 days including today. Throws `invalid_request` for an empty range and
 * for more than 400 days.
 */
export function dayRange({ from, to }: Pick<UsageDailyQuery, 'from' | 'to'>, nowMs: number): DayRange {
  const end = to === undefined ? Math.floor(nowMs / dayMs) + 1 : Math.ceil(to.getTime() / dayMs);
  const begin = from === undefined ? end - defaultDays : Math.floor(from.getTime() / dayMs);
  if (begin >= end) {
    throw new ServiceError('invalid_request', {
      message: '`from` must be earlier than `to`, which is the end of today where it is absent.',
      param: 'from',
    });
  }
  if (end - begin > maxDays) {
    throw new ServiceError('invalid_request', {
      message: `\`from\` must be at most ${maxDays} days before \`to\`.`,
      param: 'from',
    });
  }
  return { from: begin, to: end };
}

const hourMs = 3_600_000;
const maxHours = 31 * 24;

/** Whole UTC hours: `from` inclusive, `to` exclusive. */
export interface HourRange {
  readonly from: Date;
  readonly to: Date;
}

/**
 * Returns the hours of a query. The default is the last 24 hours and the present one. Throws `invalid_request` for an empty range and for
 * more than 31 days.
 */
export function hourRange({ from, to }: { from?: Date | undefined; to?: Date | undefined }, nowMs: number): HourRange {
  const end = to === undefined ? Math.floor(nowMs / hourMs) + 1 : Math.ceil(to.getTime() / hourMs);
  const begin = from === undefined ? end - 25 : Math.floor(from.getTime() / hourMs);
  if (begin >= end) {
    throw new ServiceError('invalid_request', {
      message: '`from` must be earlier than `to`, which is now where it is absent.',
      param: 'from',
    });
  }
  if (end - begin > maxHours) {
    throw new ServiceError('invalid_request', {
      message: '`from` must be at most 31 days before `to`.',
      param: 'from',
    });
  }
  return { from: new Date(begin * hourMs), to: new Date(end * hourMs) };
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
