import { Refusal, Unmade } from './refusal.ts';

/** When a verification takes place: an argument, so that it can be repeated. */
export interface VerificationTime {
  readonly now: Date;
  /** How far `now` may be off, for clocks of users; 0 by default. */
  readonly toleranceMs?: number | undefined;
}

/** "Now", with the tolerance that a user's clock is granted. Both ends are milliseconds since the epoch. */
export interface Moment {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export function momentAt({ now, toleranceMs = 0 }: VerificationTime): Moment {
  // A clock that is none becomes NaN, with which no comparison holds.
  return { earliestMs: Number(now) - toleranceMs, latestMs: Number(now) + toleranceMs };
}

/** Something valid from `fromMs` on, and before `untilMs`. */
export interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

const hasBegun = (period: Period, moment: Moment): boolean => period.fromMs <= moment.latestMs;
const lasts = (period: Period, moment: Moment): boolean => moment.earliestMs < period.untilMs;

/** Refuses outside the period, and for a clock that is no time at all. */
export function requireValid(what: string, period: Period, moment: Moment): void {
  if (!hasBegun(period, moment)) throw new Refusal(`${what} is not yet valid: it begins ${at(period.fromMs)}`);
  if (!lasts(period, moment)) throw new Refusal(`${what} ended ${at(period.untilMs)}`);
}

/**
 * For what is published anew every few weeks: from the future it is refused, expired it proves nothing. Of several, one
 * from the future counts more than one that expired.
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
