import { Random } from '../../test/kit/random.ts';

/**
 * How well an operator who has both planes' logs, with exact times, guesses the account behind an anonymous wallet. People live for six
 * weeks by random habits. The operator sees each account's withdrawals and each wallet's deposit and spending. It learns from other people
 * of the same kind how withdrawals and deposits of one person relate, and names the account that fits best (naive Bayes). In `weeks` it
 * also knows which wallets belong together, as requests that name somebody would tell. Run it: `node --conditions=@sotto/source
 * tools/wallet-guessing/guess.ts`.
 */
export interface Habits {
  /** Whether two lots are kept and new credits rest 1 to 24 hours. Otherwise a lot is bought when a run needs it. */
  readonly rests: boolean;
  /** Whether lots are bought at a time of their own, within a day and a half. Otherwise just before a run. */
  readonly apart: boolean;
  /** The number of lots that are bought at once. */
  readonly lots: number;
}

export const habits: Readonly<Record<string, Habits>> = {
  'no resting': { rests: false, apart: false, lots: 1 },
  'resting, bought just before a run': { rests: true, apart: false, lots: 1 },
  'resting, bought at another time': { rests: true, apart: true, lots: 1 },
  'the same, ten lots at once': { rests: true, apart: true, lots: 10 },
};

/** Times are in hours. */
interface Life {
  readonly withdrawals: readonly number[];
  /** Deposits, with the credits that the person had used before. */
  readonly deposits: readonly { readonly at: number; readonly usedBefore: number }[];
  /** The mean hour of the day of the withdrawals. */
  readonly hour: number;
}

const weeks = 6;
/** Deposits are guessed in the last four weeks. */
const guessedFrom = 2 * 7 * 24;

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
const around = (random: Random, median: number, spread: number): number => median * Math.exp(spread * normal(random));

/** Lives one person's six weeks: about 1.2 runs a day, of about 12 credits, around an hour of the person's own. */
function live(random: Random, { rests, apart, lots }: Habits): Life {
  const runsADay = around(random, 1.2, 0.6);
  const perRun = around(random, 12, 0.4);
  const home = 14 + 4 * normal(random);
  const runs: number[] = [];
  for (let day = 0; day < weeks * 7; day += 1) {
    for (let left = runsADay; left > 0; left -= 1)
      if (random.chance(Math.min(1, left))) runs.push(day * 24 + home + 3 * normal(random));
  }
  const credits: { readyAt: number; count: number }[] = [];
  const withdrawals: number[] = [];
  const deposits: { at: number; usedBefore: number }[] = [];
  const countOf = (until: number): number =>
    credits.reduce((sum, { readyAt, count }) => sum + (readyAt <= until ? count : 0), 0);
  const rest = (): number => (rests ? 1 + 23 * random.next() : 0);
  let used = 0;
  for (const at of runs.sort((a, b) => a - b)) {
    if (countOf(rests ? Number.POSITIVE_INFINITY : at) < (rests ? 100 : 50)) {
      const bought = apart ? at + 2 + 34 * random.next() : at - 0.05;
      for (let lot = 0; lot < lots; lot += 1) {
        withdrawals.push(bought + lot / 60);
        credits.push({ readyAt: bought + rest(), count: 50 });
      }
    }
    if (countOf(at) < 50) continue;
    let taken = 50;
    for (const lot of credits) {
      if (lot.readyAt > at) continue;
      const part = Math.min(taken, lot.count);
      lot.count -= part;
      taken -= part;
    }
    deposits.push({ at, usedBefore: used });
    const spent = Math.max(1, Math.min(50, Math.round(around(random, perRun, 0.6))));
    used += spent;
    credits.push({ readyAt: at + 0.2 + 2 * random.next() + rest(), count: 50 - spent });
  }
  withdrawals.sort((a, b) => a - b);
  const angle = withdrawals.map((each) => ((each % 24) / 24) * 2 * Math.PI);
  const sum = (of: (each: number) => number): number => angle.reduce((total, each) => total + of(each), 0);
  return { withdrawals, deposits, hour: (Math.atan2(sum(Math.sin), sum(Math.cos)) / (2 * Math.PI)) * 24 };
}

const gaps = [0.1, 0.5, 1, 2, 4, 8, 16, 24, 36, 48, 72, 120, 200];
const bins = [gaps.length + 2, gaps.length + 2, 7, 27];
const binOf = (gap: number | undefined): number => {
  if (gap === undefined) return gaps.length + 1;
  const bin = gaps.findIndex((bound) => gap < bound);
  return bin === -1 ? gaps.length : bin;
};

/** What the operator compares: times to the withdrawals before and after, the hour, and how many lots so much spending needs. */
function compare({ withdrawals, hour }: Life, { at, usedBefore }: Life['deposits'][number], into: Int32Array): void {
  let [low, high] = [0, withdrawals.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((withdrawals[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [withdrawals[low - 1], withdrawals[low]];
  const distance = Math.abs((((((at % 24) - hour) % 24) + 36) % 24) - 12);
  const excess = low - Math.ceil((usedBefore + 50) / 50);
  into[0] = binOf(before === undefined ? undefined : at - before);
  into[1] = binOf(after === undefined ? undefined : after - at);
  into[2] = Math.min(6, Math.floor(distance / 2));
  into[3] = Math.max(-6, Math.min(20, excess)) + 6;
}

type Weights = readonly (readonly number[])[];

/** Learns how much more often each value occurs between a person's own deposit and withdrawals than between those of two people. */
function learn(people: readonly Life[], random: Random): Weights {
  const compared = new Int32Array(bins.length);
  const own = bins.map((count) => new Array<number>(count).fill(1));
  const others = bins.map((count) => new Array<number>(count).fill(1));
  for (const person of people) {
    for (const deposit of person.deposits) {
      if (deposit.at < guessedFrom) continue;
      const stranger = people[random.below(people.length)] ?? person;
      for (const [counts, whose] of [
        [own, person],
        [others, stranger],
      ] as const) {
        compare(whose, deposit, compared);
        for (const [feature, row] of counts.entries())
          row[compared[feature] ?? 0] = (row[compared[feature] ?? 0] ?? 0) + 1;
      }
    }
  }
  const sum = (row: readonly number[]): number => row.reduce((total, each) => total + each, 0);
  return own.map((row, feature) => {
    const other = others[feature] ?? [];
    return row.map((each, bin) => Math.log(each / sum(row) / ((other[bin] ?? 1) / sum(other))));
  });
}

export interface Guessed {
  /** The share of people whose account was guessed right, from one deposit and from four weeks of linked wallets. */
  readonly one: number;
  readonly weeks: number;
  readonly targets: number;
}

/** Guesses the accounts of some people among `accounts`. The same seed gives the same result. */
export function guess(
  habit: Habits,
  { accounts, targets, seed }: { accounts: number; targets: number; seed: number },
): Guessed {
  const random = new Random(seed);
  const population = (count: number): Life[] => Array.from({ length: count }, () => live(random, habit));
  const weights = learn(population(3000), random);
  let [asked, one, many] = [0, 0, 0];
  while (asked < targets) {
    const people = population(accounts);
    const inOne = Math.min(targets - asked, accounts < 1000 ? 5 : targets);
    for (let left = inOne; left > 0; left -= 1) {
      const target = random.below(people.length);
      const recent = people[target]?.deposits.filter(({ at }) => at >= guessedFrom) ?? [];
      const single = recent[random.below(Math.max(1, recent.length))];
      asked += 1;
      if (single === undefined) continue;
      if (best(people, [single], weights, { isLinked: false, random }) === target) one += 1;
      if (best(people, recent, weights, { isLinked: true, random }) === target) many += 1;
    }
  }
  return { one: one / asked, weeks: many / asked, targets: asked };
}

/** The account that fits these deposits best. Of those that fit alike, a random one. */
function best(
  people: readonly Life[],
  deposits: Life['deposits'],
  weights: Weights,
  { isLinked, random }: { readonly isLinked: boolean; readonly random: Random },
): number {
  const compared = new Int32Array(bins.length);
  let [found, highest, alike] = [-1, Number.NEGATIVE_INFINITY, 0];
  for (const [at, person] of people.entries()) {
    let score = 0;
    for (const deposit of deposits) {
      compare(person, deposit, compared);
      // Spending tells nothing about one wallet alone.
      for (let feature = 0; feature < (isLinked ? 4 : 3); feature += 1)
        score += weights[feature]?.[compared[feature] ?? 0] ?? 0;
    }
    if (score < highest) continue;
    alike = score > highest ? 1 : alike + 1;
    if (score > highest || random.below(alike) === 0) found = at;
    highest = score;
  }
  return found;
}

if (import.meta.main) {
  const percent = (share: number): string => `${(share * 100).toFixed(share < 0.01 ? 2 : 0)} %`;
  for (const [accounts, targets] of [
    [20, 400],
    [1_000, 400],
    [100_000, 100],
  ] as const) {
    for (const [name, habit] of Object.entries(habits)) {
      const { one, weeks: linked } = guess(habit, { accounts, targets, seed: 30 });
      process.stdout.write(`| ${accounts.toLocaleString('en')} | ${name} | ${percent(one)} | ${percent(linked)} |\n`);
    }
  }
}
