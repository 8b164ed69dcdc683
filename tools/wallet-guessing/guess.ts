import { Random } from '../../test/kit/random.ts';

/**
 * How well an operator who has both planes' logs, with exact times, guesses the account behind an anonymous wallet. People live for six
 * weeks by random habits. The operator sees each account's withdrawals and each wallet's deposit and spending. It learns from other people
 * of the same kind how withdrawals and deposits of one person relate, and names the account that fits best (naive Bayes). In `weeks` it
 * also knows which wallets belong together, as requests that name somebody would tell. Their spending says when a person must buy the
 * next lot, so that each purchase has its place, and an account that cannot have paid is ruled out. Run it: `node --conditions=@sotto/source tools/wallet-guessing/guess.ts`.
 */
export interface Habits {
  /** Whether two lots are kept and new credits rest 1 to 24 hours. Otherwise a lot is bought when a run needs it. */
  readonly rests: boolean;
  /** Whether lots are bought at a time of their own, within a day and a half. Otherwise just before a run. */
  readonly apart: boolean;
  /** The number of lots that are bought at once. */
  readonly lots: number;
}

/** The rows of the threat model's table. */
export const habits = {
  'a lot is bought when a run needs it, without rest': { rests: false, apart: false, lots: 1 },
  'two lots rest, bought just before a run': { rests: true, apart: false, lots: 1 },
  'two lots rest, bought at another time': { rests: true, apart: true, lots: 1 },
  'the same, ten lots at once': { rests: true, apart: true, lots: 10 },
} satisfies Readonly<Record<string, Habits>>;

/** Times are in hours. */
interface Life {
  readonly withdrawals: readonly number[];
  /** Deposits, with the credits that were used of each. */
  readonly deposits: readonly { readonly at: number; readonly spent: number }[];
  /** The mean hour of the day of the withdrawals. */
  readonly hour: number;
}

const weeks = 6;
/** Deposits are guessed in the last four weeks. */
const guessedFrom = 2 * 7 * 24;

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
const around = (random: Random, median: number, spread: number): number => median * Math.exp(spread * normal(random));

/**
 * Lives one person's time: about 1.2 runs a day, of about 12 credits, around an hour of the person's own, from a day in the first four
 * weeks until the end of the six.
 */
function live(random: Random, { rests, apart, lots }: Habits): Life {
  const runsADay = around(random, 1.2, 0.6);
  const perRun = around(random, 12, 0.4);
  const home = 14 + 4 * normal(random);
  const runs: number[] = [];
  for (let day = random.below(28); day < weeks * 7; day += 1) {
    for (let left = runsADay; left > 0; left -= 1)
      if (random.chance(Math.min(1, left))) runs.push(day * 24 + home + 3 * normal(random));
  }
  const credits: { readyAt: number; count: number }[] = [];
  const withdrawals: number[] = [];
  const deposits: { at: number; spent: number }[] = [];
  const countOf = (until: number): number =>
    credits.reduce((sum, { readyAt, count }) => sum + (readyAt <= until ? count : 0), 0);
  const rest = (): number => (rests ? 1 + 23 * random.next() : 0);
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
    const spent = Math.max(1, Math.min(50, Math.round(around(random, perRun, 0.6))));
    deposits.push({ at, spent });
    credits.push({ readyAt: at + 0.2 + 2 * random.next() + rest(), count: 50 - spent });
  }
  withdrawals.sort((a, b) => a - b);
  const angle = withdrawals.map((each) => ((each % 24) / 24) * 2 * Math.PI);
  const sum = (of: (each: number) => number): number => angle.reduce((total, each) => total + of(each), 0);
  return { withdrawals, deposits, hour: (Math.atan2(sum(Math.sin), sum(Math.cos)) / (2 * Math.PI)) * 24 };
}

/** People who buy when a run needs it do so three minutes before. The operator has exact times, so it learns that to the second. */
const gaps = [0.0499, 0.0501, 0.5, 1, 2, 4, 8, 16, 24, 36, 48, 72, 120, 200];
const stocks = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 200, 300, 450, 601];
/** Bins of gaps, of spending and of stocks. The last one of gaps is for no gap. */
const sizes = { gap: gaps.length + 2, state: stocks.length + 1 };
/** The time since the withdrawal before, and until the one after, each with the state; the hour; and spending with how much was bought. */
const bins = [sizes.state * sizes.gap, sizes.state * sizes.gap, 12, 96];
const binOf = (bounds: readonly number[], value: number): number => {
  const bin = bounds.findIndex((bound) => value < bound);
  return bin === -1 ? bounds.length : bin;
};
const gapOf = (from: number | undefined, to: number | undefined): number =>
  from === undefined || to === undefined ? gaps.length + 1 : binOf(gaps, to - from);

/** What goes before a deposit: how many lots the account has bought, and what the wallets have used. */
interface Before {
  bought: number;
  used: number;
}

/**
 * What the operator compares of an account and a deposit: times to the withdrawals before and after, the hour, and amounts. What a time
 * means depends on a state. Of linked wallets it is the stock of credits that the account has if the wallets are its own, because a
 * small one says that the next lot must be bought. Of one wallet it is the spending.
 */
function compare(
  { withdrawals, hour }: Life,
  { at, spent }: Life['deposits'][number],
  { isLinked, before, into }: { readonly isLinked: boolean; readonly before: Before; readonly into: Int32Array },
): void {
  while (before.bought < withdrawals.length && (withdrawals[before.bought] ?? 0) <= at) before.bought += 1;
  const state = binOf(stocks, isLinked ? before.bought * 50 - before.used : spent) * sizes.gap;
  const distance = Math.abs((((((at % 24) - hour) % 24) + 36) % 24) - 12);
  const rate = Math.min(11, Math.floor(2 * Math.log2(1 + withdrawals.length)));
  into[0] = state + gapOf(withdrawals[before.bought - 1], at);
  into[1] = state + gapOf(at, withdrawals[before.bought]);
  into[2] = Math.min(11, Math.floor(distance));
  into[3] = isLinked ? 0 : rate * 8 + Math.min(7, Math.floor(1.5 * Math.log2(spent)));
  before.used += spent;
}

type Weights = readonly (readonly number[])[];

/** Learns how much more often each value occurs between a person's own deposits and withdrawals than between those of two people. */
function learn(people: readonly Life[], isLinked: boolean, random: Random): Weights {
  const own = bins.map((count) => new Array<number>(count).fill(0.5));
  const others = bins.map((count) => new Array<number>(count).fill(0.5));
  const into = new Int32Array(bins.length);
  for (const person of people) {
    const stranger = people[random.below(people.length)] ?? person;
    for (const [rows, whose] of [
      [own, person],
      [others, stranger],
    ] as const) {
      const before = { bought: 0, used: 0 };
      for (const deposit of person.deposits) {
        compare(whose, deposit, { isLinked, before, into });
        if (!isLinked && deposit.at < guessedFrom) continue;
        for (const [feature, row] of rows.entries()) row[into[feature] ?? 0] = (row[into[feature] ?? 0] ?? 0) + 1;
      }
    }
  }
  const sum = (row: readonly number[]): number => row.reduce((total, each) => total + each, 0);
  return own.map((row, feature) => {
    const other = others[feature] ?? [];
    return row.map((each, bin) => Math.log(each / sum(row) / ((other[bin] ?? 1) / sum(other))));
  });
}

/** Hours between the two deposits around a run that must buy, from the second of them to the purchase, and from the first purchases to the first deposit. */
const waits = [4, 8, 16, 24, 36, 60];
const lags = Array.from({ length: 49 }, (_, at) => 2 * at - 60);
const starts = [1, 3, 6, 10, 16, 24, 36, 48, 72, 96, 120, 168, 240, 336];
const never = Number.POSITIVE_INFINITY;

/**
 * Tells `visit` the place of each purchase that must have paid for linked wallets, as a row and a bin. False if the account cannot have
 * paid: it bought too little, too late or too often. Found by an attack on an earlier form of this tool.
 */
function placePurchases(
  { withdrawals }: Life,
  deposits: Life['deposits'],
  lots: number,
  visit: (row: number, bin: number) => void,
): boolean {
  const bought = withdrawals.filter((_, at) => at % lots === 0);
  const before = lots > 1 ? 1 : 2;
  let [stock, next, used] = [50 * lots * before, before, 0];
  for (let at = 0; at < before; at += 1) visit(at, binOf(starts, (deposits[0]?.at ?? 0) - (bought[at] ?? never)));
  for (const [index, { at, spent }] of deposits.entries()) {
    if (stock < 100) {
      visit(2 + binOf(waits, at - (deposits[index - 1]?.at ?? 0)), binOf(lags, (bought[next] ?? never) - at));
      next += 1;
      stock += 50 * lots;
    }
    // Credits rest for at least an hour.
    if ((bought[Math.ceil((used + 50) / (50 * lots)) - 1] ?? never) > at - 0.999) return false;
    stock -= spent;
    used += spent;
  }
  return bought.length === next || (stock < 100 && bought.length === next + 1);
}

/** Learns how likely each place of a purchase is, per hour. */
function learnPurchases(people: readonly Life[], lots: number): Weights {
  const rows = Array.from({ length: 3 + waits.length }, () => new Array<number>(lags.length + 1).fill(0.02));
  const count = (row: number, bin: number): void => {
    const counts = rows[row] ?? [];
    counts[bin] = (counts[bin] ?? 0) + 1;
  };
  for (const person of people) if (person.deposits.length > 0) placePurchases(person, person.deposits, lots, count);
  return rows.map((counts, row) => {
    const bounds = row < 2 ? starts : lags;
    const total = counts.reduce((all, each) => all + each, 0);
    const hours = (bin: number): number => (bounds[bin] ?? never) - (bounds[bin - 1] ?? never);
    return counts.map((each, bin) => Math.log(each / total / (Number.isFinite(hours(bin)) ? hours(bin) : 400)));
  });
}

/** The account whose purchases fit linked wallets best. */
function bestByPurchases(people: readonly Life[], deposits: Life['deposits'], lots: number, weights: Weights): number {
  let [found, highest] = [-1, -never];
  for (const [at, person] of people.entries()) {
    let score = 0;
    const add = (row: number, bin: number): void => {
      score += weights[row]?.[bin] ?? 0;
    };
    if (placePurchases(person, deposits, lots, add) && score > highest) [found, highest] = [at, score];
  }
  return found;
}

export interface Guessed {
  /** The share of people whose account was guessed right, from one deposit, and from six weeks of linked wallets. */
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
  const learned = population(3000);
  const weights = { one: learn(learned, false, random), linked: learn(learned, true, random) };
  const purchases = learnPurchases(learned, habit.lots);
  // An account that buys just before a run is known by the minute.
  const bestOfWeeks = (people: readonly Life[], wallets: Life['deposits']): number =>
    habit.apart
      ? bestByPurchases(people, wallets, habit.lots, purchases)
      : best(people, wallets, weights.linked, random);
  let [asked, one, many] = [0, 0, 0];
  while (asked < targets) {
    const people = population(accounts);
    const inOne = Math.min(targets - asked, accounts < 1000 ? 5 : targets);
    for (let left = inOne; left > 0; left -= 1) {
      const target = random.below(people.length);
      const wallets = people[target]?.deposits ?? [];
      const recent = wallets.filter(({ at }) => at >= guessedFrom);
      const single = recent[random.below(Math.max(1, recent.length))];
      asked += 1;
      if (single === undefined) continue;
      if (best(people, [single], weights.one, random) === target) one += 1;
      if (bestOfWeeks(people, wallets) === target) many += 1;
    }
  }
  return { one: one / asked, weeks: many / asked, targets: asked };
}

/** An account that fits worse is given up before all its deposits are compared. */
const hopeless = -60;

/** The account that fits these deposits best. Of those that fit alike, a random one. */
function best(people: readonly Life[], deposits: Life['deposits'], weights: Weights, random: Random): number {
  let [found, highest, alike] = [-1, Number.NEGATIVE_INFINITY, 0];
  const isLinked = deposits.length > 1;
  const into = new Int32Array(bins.length);
  for (const [at, person] of people.entries()) {
    const before = { bought: 0, used: 0 };
    let score = 0;
    for (let each = 0; each < deposits.length && score > hopeless; each += 1) {
      compare(person, deposits[each] ?? { at: 0, spent: 0 }, { isLinked, before, into });
      for (let feature = 0; feature < bins.length; feature += 1) score += weights[feature]?.[into[feature] ?? 0] ?? 0;
    }
    if (score < highest) continue;
    alike = score > highest ? 1 : alike + 1;
    if (score > highest || random.below(alike) === 0) found = at;
    highest = score;
  }
  return found;
}

/** The threat model's cell of a habit among so many accounts. */
export function cellOf(habit: Habits, accounts: number): string {
  const { one, weeks: linked } = guess(habit, { accounts, targets: accounts > 10_000 ? 100 : 400, seed: 30 });
  const percent = (share: number): string => (share < 0.01 ? '<1' : String(Math.round(share * 100)));
  return `${percent(one)} / ${percent(linked)} %`;
}

if (import.meta.main) {
  for (const [name, habit] of Object.entries(habits)) {
    const cells = [20, 1_000, 100_000].map((accounts) => cellOf(habit, accounts));
    process.stdout.write(`| ${[name, ...cells].join(' | ')} |\n`);
  }
}
