import { Refusal, Unmade } from './refusal.ts';

/** The time of a verification. It is an argument, so that a verification can be repeated. */
export interface VerificationTime {
  readonly now: Date;
  /** How much `now` may be off, for users' clocks. 0 by default. */
  readonly toleranceMs?: number | undefined;
}

/** The current time with the tolerance for a user's clock. Both ends are milliseconds since the epoch. */
export interface Moment {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export function momentAt({ now, toleranceMs = 0 }: VerificationTime): Moment {
  // An invalid date becomes NaN, for which every comparison is false.
  return { earliestMs: Number(now) - toleranceMs, latestMs: Number(now) + toleranceMs };
}

/** A period that includes `fromMs` and excludes `untilMs`. */
export interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The first end of the periods that are known. */
export const firstEnd = (periods: readonly (Period | undefined)[]): number =>
  Math.min(...periods.flatMap((period) => period?.untilMs ?? []));

const hasBegun = (period: Period, moment: Moment): boolean => period.fromMs <= moment.latestMs;
const lasts = (period: Period, moment: Moment): boolean => moment.earliestMs < period.untilMs;

/** Refuses a moment outside the period, and an invalid date. */
export function requireValid(what: string, period: Period, moment: Moment): void {
  if (!hasBegun(period, moment)) throw new Refusal(`${what} is not yet valid: it begins ${at(period.fromMs)}`);
  if (!lasts(period, moment)) throw new Refusal(`${what} ended ${at(period.untilMs)}`);
}

/**
 * Checks documents that are published again every few weeks. A document from the future is refused. An expired one
 * proves nothing, so the check is skipped. If both occur, the future one decides.
 */
export function requireCurrent(dated: Readonly<Record<string, Period>>, moment: Moment): void {
  const periods = Object.entries(dated);
  for (const [what, period] of periods) {
    if (!hasBegun(period, moment)) throw new Refusal(`${what} is from the future: ${at(period.fromMs)}`);
  }
  for (const [what, period] of periods) {
    if (!lasts(period, moment)) throw new Unmade(`${what} expired ${at(period.untilMs)}`);
  }
}

function at(instantMs: number): string {
  return Number.isFinite(instantMs) ? new Date(instantMs).toISOString() : 'at no time';
}
