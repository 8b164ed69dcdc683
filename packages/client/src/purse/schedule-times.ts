import type { Timing } from './batches.ts';

const hourMs = 3_600_000;
export const weekMs = 168 * hourMs;

/** The lots that a schedule buys at its beginning, whatever anybody will use. */
export const firstLots = 5;
export const usualLotsAWeek = 3;
/** The most days for which the first lots rest, unless the user shortens it. */
export const usualFirstUseDays = 7;

/** A time of the week after that of a purchase. Weeks begin at the same instant for everybody, and a lot is bought once in each. */
export const weekAfter = (at: number, random: Timing['random']): number =>
  (Math.floor(at / weekMs) + 1) * weekMs + random(0, weekMs);

/** A time of the next seven days. */
export const withinWeek = (now: number, random: Timing['random']): number => now + random(0, weekMs);

/**
 * When a lot is to be bought that was planned for `at`. One that was missed by an hour, because the machine slept, waits for a random time. So
 * does one that no plan puts so far ahead: the clock went back.
 */
export function plannedFor(at: number, now: number, random: Timing['random']): number {
  const isMissed = at < now - hourMs;
  const isTooLate = at >= now + 2 * weekMs;
  return isMissed || isTooLate ? withinWeek(now, random) : at;
}
