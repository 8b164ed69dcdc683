import { around, type Random, standardNormal } from '../../test/kit/random.ts';

/** Habits of people who use anonymous wallets. They live for six weeks. */
export interface Habits {
  /** Whether two batches are kept and new credits rest 1 to 24 hours. Otherwise a batch is bought when a run needs it. */
  readonly rests: boolean;
  /** Whether batches are bought at a time of their own, within a day and a half. Otherwise just before a run. */
  readonly apart: boolean;
  /** The number of batches that are bought at once. */
  readonly batches: number;
}

/** The rows of the threat model's table. */
export const habits = {
  'a batch is bought when a run needs it, without rest': { rests: false, apart: false, batches: 1 },
  'two batches rest, bought just before a run': { rests: true, apart: false, batches: 1 },
  'two batches rest, bought at another time': { rests: true, apart: true, batches: 1 },
  'the same, ten batches at once': { rests: true, apart: true, batches: 10 },
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
/** When batches are bought at a time of their own: hours after the run that makes it necessary. */
export const [firstBuyH, lastBuyH] = [2, 36];

/** Medians and spreads of people's habits, and of single days around them. `home` is the usual hour of runs. */
export const typical = {
  runsADay: [1.2, 0.6],
  perRun: [12, 0.4],
  home: [14, 4],
  hourSpread: 3,
  spendingSpread: 0.6,
  /** People begin on any of the first days. */
  firstDays: 28,
} as const;
/** Credits of a wallet that is closed rest from so many hours after the deposit. */
export const closingH = (random: Random): number => 0.2 + 2 * random.next();
export const restingH = (random: Random): number => 1 + 23 * random.next();

/**
 * Lives one person's time. There are about 1.2 runs a day, of about 12 credits, around an hour of the person's own. They begin on a day
 * in the first four weeks.
 */
export function live(random: Random, { rests, apart, batches }: Habits): Life {
  const runsADay = around(random, ...typical.runsADay);
  const perRun = around(random, ...typical.perRun);
  const home = typical.home[0] + typical.home[1] * standardNormal(random);
  const runs: number[] = [];
  for (let day = random.below(typical.firstDays); day < days; day += 1) {
    for (let left = runsADay; left > 0; left -= 1)
      if (random.chance(Math.min(1, left))) runs.push(day * 24 + home + typical.hourSpread * standardNormal(random));
  }
  const credits: { readyAt: number; count: number }[] = [];
  const withdrawals: number[] = [];
  const deposits: Deposit[] = [];
  const countOf = (until: number): number =>
    credits.reduce((sum, { readyAt, count }) => sum + (readyAt <= until ? count : 0), 0);
  const rest = (): number => (rests ? restingH(random) : 0);
  for (const at of runs.sort((a, b) => a - b)) {
    if (countOf(rests ? Number.POSITIVE_INFINITY : at) < (rests ? 100 : 50)) {
      const bought = apart ? at + firstBuyH + (lastBuyH - firstBuyH) * random.next() : at - 0.05;
      for (let batch = 0; batch < batches; batch += 1) {
        withdrawals.push(bought + batch / 60);
        credits.push({ readyAt: bought + rest(), count: 50 });
      }
    }
    if (countOf(at) < 50) continue;
    let taken = 50;
    for (const batch of credits) {
      if (batch.readyAt > at) continue;
      const part = Math.min(taken, batch.count);
      batch.count -= part;
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
export function meanHour(times: readonly number[]): number {
  const sum = (of: (angle: number) => number): number =>
    times.reduce((total, at) => total + of((at / 12) * Math.PI), 0);
  return (Math.atan2(sum(Math.sin), sum(Math.cos)) / Math.PI) * 12;
}
