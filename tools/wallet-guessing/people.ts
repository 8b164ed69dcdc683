import { around, type Random, standardNormal } from '../../test/kit/random.ts';

/** Habits of people who use anonymous wallets. They live for six weeks. */
export interface Habits {
  /** Whether lots are bought on a schedule, and rest. Otherwise a lot is bought just before the run that needs it. */
  readonly schedule: boolean;
  /** The most days for which the first use waits. */
  readonly waitDays: number;
}

/** The rows of the threat model's table. */
export const habits = {
  'no schedule: a lot is bought when a run needs it': { schedule: false, waitDays: 0 },
  'a schedule, without waiting': { schedule: true, waitDays: 0 },
  'a schedule, the first use waits up to 7 days': { schedule: true, waitDays: 7 },
  'the same, up to 14 days': { schedule: true, waitDays: 14 },
} satisfies Readonly<Record<string, Habits>>;

/** A deposit, with the credits of it that were used. Times are in hours. */
export interface Deposit {
  readonly at: number;
  readonly spent: number;
}

export interface Life {
  readonly withdrawals: readonly number[];
  readonly deposits: readonly Deposit[];
  /** The mean hour of the day of the withdrawals. */
  readonly hour: number;
}

export const days = 6 * 7;
/** Deposits are guessed in the last four weeks. */
export const guessedFrom = 2 * 7 * 24;
export const never = Number.POSITIVE_INFINITY;
const weekH = 7 * 24;
const [firstLots, lotsAWeek] = [5, 3];

/** Medians and spreads of people's habits, and of single days around them. `home` is the usual hour of runs. */
const typical = {
  runsADay: [1.2, 0.6],
  perRun: [12, 0.4],
  home: [14, 4],
  hourSpread: 3,
  spendingSpread: 0.6,
  /** People begin on any of the first days. */
  firstDays: 28,
} as const;
/** Credits of a wallet that is closed rest from so many hours after the deposit. */
const closingH = (random: Random): number => 0.2 + 2 * random.next();
const restingH = (random: Random): number => 1 + 23 * random.next();

/**
 * Lives one person's time. There are about 1.2 runs a day, of about 12 credits, around an hour of the person's own. They begin on a day
 * in the first four weeks. A run without 50 credits that are ready does not happen.
 */
export function live(random: Random, { schedule, waitDays }: Habits): Life {
  const runsADay = around(random, ...typical.runsADay);
  const perRun = around(random, ...typical.perRun);
  const home = typical.home[0] + typical.home[1] * standardNormal(random);
  const runs: number[] = [];
  for (let day = random.below(typical.firstDays); day < days; day += 1) {
    for (let left = runsADay; left > 0; left -= 1)
      if (random.chance(Math.min(1, left))) runs.push(day * 24 + home + typical.hourSpread * standardNormal(random));
  }
  runs.sort((a, b) => a - b);
  const credits: { readyAt: number; count: number }[] = [];
  const withdrawals: number[] = [];
  const deposits: Deposit[] = [];
  const rest = (): number => (schedule ? restingH(random) : 0);
  const buy = (at: number, readyAt: number): void => {
    withdrawals.push(at);
    credits.push({ readyAt, count: 50 });
  };
  const [first] = runs;
  if (schedule && first !== undefined) {
    const firstUse = first + waitDays * 24 * random.next();
    for (let lot = 0; lot < firstLots; lot += 1) buy(first + lot / 60, Math.max(firstUse, first + rest()));
    for (let week = Math.floor(first / weekH) + 1; week * weekH < days * 24; week += 1)
      for (let lot = 0; lot < lotsAWeek; lot += 1) {
        const at = (week + random.next()) * weekH;
        buy(at, Math.max(firstUse, at + rest()));
      }
  }
  const readyAt = (at: number): number =>
    credits.reduce((sum, credit) => sum + (credit.readyAt <= at ? credit.count : 0), 0);
  for (const at of runs) {
    if (!schedule && readyAt(at) < 50) buy(at - 0.05, at - 0.05);
    if (readyAt(at) < 50) continue;
    let taken = 50;
    for (const lot of credits) {
      if (lot.readyAt > at) continue;
      const part = Math.min(taken, lot.count);
      lot.count -= part;
      taken -= part;
    }
    const spent = Math.max(1, Math.min(50, Math.round(around(random, perRun, typical.spendingSpread))));
    deposits.push({ at, spent });
    credits.push({ readyAt: at + closingH(random) + rest(), count: 50 - spent });
  }
  withdrawals.sort((a, b) => a - b);
  return { withdrawals, deposits, hour: meanHour(withdrawals) };
}

/** The mean hour of the day, from -12 to 12. */
function meanHour(times: readonly number[]): number {
  const sum = (of: (angle: number) => number): number =>
    times.reduce((total, at) => total + of((at / 12) * Math.PI), 0);
  return (Math.atan2(sum(Math.sin), sum(Math.cos)) / Math.PI) * 12;
}
