import { Random } from '../../test/kit/random.ts';

/**
 * How well an operator who has both planes' logs, with exact times, guesses the account behind an anonymous wallet. People live for six
 * weeks by random habits. The operator sees each account's withdrawals and each wallet's deposit and spending. It learns from other people
 * of the same kind how withdrawals and deposits of one person relate, and names the account that fits best (a softmax over accounts). In
 * `weeks` it also knows which wallets belong together, as requests that name somebody would tell. Their spending says when a person must
 * buy the next lot, so that each purchase has its place, and an account that cannot have paid is ruled out. Among those that can have
 * paid, a particle filter tells how likely the purchases are. Independent attacks found most of this.
 *
 * It is one program, longer than 400 lines, because each step needs the one before. Run it: `node --conditions=@sotto/source tools/wallet-guessing/guess.ts`.
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

const days = 6 * 7;
/** Deposits are guessed in the last four weeks. */
const guessedFrom = 2 * 7 * 24;
const never = Number.POSITIVE_INFINITY;
/** When lots are bought at a time of their own: hours after the run that makes it necessary. */
const [firstBuyH, lastBuyH] = [2, 36];

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
const around = (random: Random, median: number, spread: number): number => median * Math.exp(spread * normal(random));

/**
 * Lives one person's time. There are about 1.2 runs a day, of about 12 credits, around an hour of the person's own. They begin on a day
 * in the first four weeks.
 */
function live(random: Random, { rests, apart, lots }: Habits): Life {
  const runsADay = around(random, 1.2, 0.6);
  const perRun = around(random, 12, 0.4);
  const home = 14 + 4 * normal(random);
  const runs: number[] = [];
  for (let day = random.below(28); day < days; day += 1) {
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
      const bought = apart ? at + firstBuyH + (lastBuyH - firstBuyH) * random.next() : at - 0.05;
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
  return { withdrawals, deposits, hour: meanHour(withdrawals) };
}

/** The mean hour of the day, from -12 to 12. */
function meanHour(times: readonly number[]): number {
  const sum = (of: (angle: number) => number): number =>
    times.reduce((total, at) => total + of((at / 12) * Math.PI), 0);
  return (Math.atan2(sum(Math.sin), sum(Math.cos)) / Math.PI) * 12;
}

/** People who buy when a run needs it do so three minutes before. The operator has exact times, so it learns that to the second. */
const gaps = [0.0499, 0.0501, 0.5, 1, 2, 4, 8, 16, 24, 36, 48, 72, 120, 200];
const spendings = [10, 20, 30, 40, 50];
/** Purchases in a thousand hours. */
const paces = [2, 4, 6, 8, 11, 15, 20, 28];
/** Hours since an account's first purchase. */
const ages = [0, 12, 24, 36, 48, 72, 96, 144, 192, 240, 300, 360, 420, 480, 560, 640, 720, 800, 900];
/** The last bin of gaps is for no gap. */
const sizes = { gap: gaps.length + 2, pace: paces.length + 1 };
const bins = [
  (spendings.length + 1) * sizes.gap,
  (spendings.length + 1) * sizes.gap,
  24,
  sizes.pace * 8,
  (ages.length + 1) * sizes.pace,
];
const binOf = (bounds: readonly number[], value: number): number => {
  const bin = bounds.findIndex((bound) => value < bound);
  return bin === -1 ? bounds.length : bin;
};
const gapOf = (from: number | undefined, to: number | undefined): number =>
  from === undefined || to === undefined ? gaps.length + 1 : binOf(gaps, to - from);

/**
 * Compares an account with a deposit. Features: the times to the withdrawals before and after, each with the spending; hours from the
 * account's usual hour; how often the account buys; and since when.
 */
function compare({ withdrawals, hour }: Life, { at, spent }: Life['deposits'][number], into: Int32Array): void {
  const after = withdrawals.findIndex((each) => each > at);
  const bought = after === -1 ? withdrawals.length : after;
  const first = withdrawals[0] ?? never;
  const pace = binOf(paces, (withdrawals.length * 1000) / Math.max(24, days * 24 + 36 - first));
  const spending = binOf(spendings, spent) * sizes.gap;
  into[0] = spending + gapOf(withdrawals[bought - 1], at);
  into[1] = spending + gapOf(at, withdrawals[bought]);
  into[2] = Math.floor(((((at % 24) - hour) % 24) + 36) % 24);
  into[3] = pace * 8 + Math.min(7, Math.floor(1.5 * Math.log2(spent)));
  into[4] = binOf(ages, at - first) * sizes.pace + pace;
}

/** Logarithms, by feature and bin. A candidate's score is the sum of those that it has. */
type Weights = number[][];
/** The features of one candidate, with their bins. */
type Seen = readonly (readonly [feature: number, bin: number])[];

const scoreOf = (weights: Weights, seen: Seen): number =>
  seen.reduce((sum, [feature, bin]) => sum + (weights[feature]?.[bin] ?? 0), 0);

/** Moves the weights a step toward naming the first candidate, the right one (softmax regression). */
function step(weights: Weights, candidates: readonly Seen[], size: number): void {
  const likely = candidates.map((seen) => Math.exp(Math.min(50, scoreOf(weights, seen))));
  const total = likely.reduce((sum, each) => sum + each, 0);
  for (const [which, seen] of candidates.entries()) {
    const error = (which === 0 ? 1 : 0) - (likely[which] ?? 0) / total;
    for (const [feature, bin] of seen) {
      const row = weights[feature] ?? [];
      row[bin] = (row[bin] ?? 0) + size * error;
    }
  }
}

/** Learns to tell whose a deposit is, from people and strangers. */
function learn(people: readonly Life[], random: Random): Weights {
  const weights = bins.map((count) => new Array<number>(count).fill(0));
  const into = new Int32Array(bins.length);
  for (let round = 0; round < 20; round += 1) {
    for (const person of people) {
      const recent = person.deposits.filter(({ at }) => at >= guessedFrom);
      const deposit = recent[random.below(Math.max(1, recent.length))];
      if (deposit === undefined) continue;
      const candidates = Array.from({ length: 8 }, (_, which): Seen => {
        compare(which === 0 ? person : (people[random.below(people.length)] ?? person), deposit, into);
        return Array.from(into, (bin, feature) => [feature, bin] as const);
      });
      step(weights, candidates, 0.05 * (1 - round / 20));
    }
  }
  return weights;
}

/** Bounds of bins, in hours: between the two deposits around a run that must buy, and from the second of them to the purchase. */
const waits = [4, 8, 16, 24, 36, 60];
const lags = Array.from({ length: 49 }, (_, at) => 2 * at - 60);
/** From the first purchases to the usual hour of the first deposit. */
const starts = [
  ...[-36, -24, -12, -6, -3, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27],
  ...[30, 36, 42, 48, 60, 72, 96, 120, 168, 240, 336],
];
/** Deposits a day. */
const rates = [0.6, 0.9, 1.2, 1.8];
/** The rows of `starts` come first: two for each rate. */
const waitsFrom = 2 * (rates.length + 1);

/**
 * Finds the place of each purchase that must have paid for linked wallets, as features. Undefined if the account cannot have paid: it
 * bought too little, too early, too late or too often.
 */
function placePurchases({ withdrawals }: Life, deposits: Life['deposits'], lots: number): Seen | undefined {
  const bought = lots === 1 ? withdrawals : withdrawals.filter((_, at) => at % lots === 0);
  const before = lots > 1 ? 1 : 2;
  let [stock, next, used] = [50 * lots * before, before, 0];
  const seen: [number, number][] = [];
  for (const [index, { at, spent }] of deposits.entries()) {
    if (stock < 100) {
      const earlier = deposits[index - 1]?.at ?? 0;
      const lag = (bought[next] ?? never) - at;
      if (lag > lastBuyH || at + lag < earlier + firstBuyH) return undefined;
      seen.push([waitsFrom + binOf(waits, at - earlier), binOf(lags, lag)]);
      next += 1;
      stock += 50 * lots;
    }
    // Credits rest for at least an hour.
    if ((bought[Math.ceil((used + 50) / (50 * lots)) - 1] ?? never) > at - 0.999) return undefined;
    stock -= spent;
    used += spent;
  }
  if (bought.length !== next && (stock >= 100 || bought.length !== next + 1)) return undefined;
  const first = deposits[0]?.at ?? 0;
  const home = meanHour(deposits.map(({ at }) => at));
  const usual = home + 24 * Math.round((first - home) / 24);
  const rate = binOf(rates, deposits.length / (days + 1 - first / 24));
  const starting = bought.slice(0, before).map((each, at) => [at + 2 * rate, binOf(starts, usual - each)] as const);
  return [...starting, ...seen];
}

/** Learns how likely each place of a purchase is, from people and strangers who can have paid, too. */
function learnPurchases(people: readonly Life[], lots: number, random: Random): Weights {
  const weights = Array.from({ length: waitsFrom + waits.length + 1 }, () =>
    new Array<number>(lags.length + 1).fill(0),
  );
  const sets = people.flatMap((person) => {
    const own = person.deposits.length > 0 ? placePurchases(person, person.deposits, lots) : undefined;
    if (own === undefined) return [];
    const candidates = [own];
    const from = random.below(people.length);
    for (let next = 0; next < people.length && candidates.length < 12; next += 1) {
      const stranger = people[(from + next) % people.length] ?? person;
      const seen = stranger === person ? undefined : placePurchases(stranger, person.deposits, lots);
      if (seen !== undefined) candidates.push(seen);
    }
    return candidates.length > 1 ? [candidates] : [];
  });
  for (let round = 0; round < 30; round += 1)
    for (const candidates of sets) step(weights, candidates, 0.05 * (1 - round / 30));
  return weights;
}

/** A guess of what the operator cannot see: the days with runs without a deposit, how long credits rested, and which run bought what. */
interface Story {
  readonly runsADay: number;
  readonly firstDay: number;
  stock: number;
  /** Purchases that no run has made yet. */
  readonly left: number[];
  /** How many purchases have arrived, and the credits that are ready. */
  arrived: number;
  ready: number;
  readonly resting: { readonly readyAt: number; readonly count: number }[];
}

/** How likely an account's purchases are for linked wallets: the logarithm of the mean weight of stories (a particle filter). */
function likelihood(
  { withdrawals }: Life,
  deposits: Life['deposits'],
  { lots, stories: storyCount, random }: { readonly lots: number; readonly stories: number; readonly random: Random },
): number {
  const bought = withdrawals.filter((_, at) => at % lots === 0);
  const home = ((meanHour(deposits.map(({ at }) => at)) + 22) % 24) + 2;
  const dayOf = (at: number): number => Math.round((at - home) / 24);
  const [firstBought = 0] = bought;
  const firstDay = dayOf(deposits[0]?.at ?? 0);
  const earliest = Math.max(0, dayOf(firstBought - lastBuyH));
  const latest = Math.min(firstDay, dayOf(firstBought - firstBuyH));
  const rest = (): number => 1 + 23 * random.next();
  /** Takes the credits that are ready at a time. */
  const take = (story: Story, at: number): void => {
    for (; (bought[story.arrived] ?? never) <= at; story.arrived += 1) {
      for (let lot = 0; lot < lots; lot += 1)
        story.resting.push({ readyAt: (bought[story.arrived] ?? 0) + lot / 60 + rest(), count: 50 });
    }
    let kept = 0;
    for (const each of story.resting) {
      if (each.readyAt <= at) story.ready += each.count;
      else story.resting[kept++] = each;
    }
    story.resting.length = kept;
  };
  let stories = Array.from(
    { length: storyCount },
    (): Story => ({
      runsADay: around(random, (1.15 * deposits.length) / (days - firstDay), 0.25),
      firstDay: earliest + random.below(Math.max(1, latest - earliest + 1)),
      stock: 0,
      left: [...bought],
      ...{ arrived: 0, ready: 0, resting: [] },
    }),
  );
  let sum = 0;
  for (let day = earliest; day < days; day += 1) {
    const seen = deposits.filter(({ at }) => dayOf(at) === day);
    const weights = stories.map((story) => {
      if (day < story.firstDay) return seen.length > 0 ? 0 : 1;
      const whole = Math.floor(story.runsADay) + (random.chance(story.runsADay % 1) ? 1 : 0);
      const runs = Math.max(day === story.firstDay ? 1 : 0, whole);
      if (runs < seen.length) return 0;
      const hidden = Array.from({ length: runs - seen.length }, () => ({
        at: day * 24 + home + 3 * normal(random),
        spent: 0,
      }));
      // In how many ways runs are the seen ones.
      let weight = seen.reduce((ways, _, each) => (ways * (runs - each)) / (each + 1), 1);
      for (const { at, spent } of [...seen, ...hidden].sort((a, b) => a.at - b.at)) {
        take(story, at);
        // A run that was seen had its lot, a hidden one had not.
        if (story.ready >= 50 !== spent > 0) return 0;
        if (story.stock < 100) {
          const fit = story.left.filter((each) => each > at + firstBuyH && each < at + lastBuyH);
          const [buys] = fit.splice(random.below(Math.max(1, fit.length)), 1);
          if (buys === undefined) return 0;
          weight *= (fit.length + 1) / (lastBuyH - firstBuyH);
          story.left.splice(story.left.indexOf(buys), 1);
          story.stock += 50 * lots;
        }
        if (spent === 0) continue;
        story.ready -= 50;
        story.resting.push({ readyAt: at + 0.2 + 2 * random.next() + rest(), count: 50 - spent });
        story.stock -= spent;
      }
      const [oldest = never] = story.left;
      return oldest < (day + 1) * 24 + home - 10 ? 0 : weight;
    });
    const total = weights.reduce((all, each) => all + each, 0);
    if (total === 0) return -never;
    sum += Math.log(total / stories.length);
    stories = resample(stories, weights, total * random.next());
  }
  return sum + Math.log(stories.filter(({ left }) => left.length === 0).length / stories.length);
}

/** As many stories again, each as often as its weight says (systematic resampling). */
function resample(stories: readonly Story[], weights: readonly number[], start: number): Story[] {
  const total = weights.reduce((all, each) => all + each, 0);
  let [which, passed] = [0, weights[0] ?? 0];
  return stories.map((last, each) => {
    while (passed < (each * total + start) / stories.length && which < stories.length - 1) {
      which += 1;
      passed += weights[which] ?? 0;
    }
    const story = stories[which] ?? last;
    return { ...story, left: [...story.left], resting: [...story.resting] };
  });
}

/** Rounds of stories: of how many accounts, and how many stories each. */
const rounds = [
  { among: 60, stories: 300 },
  { among: 10, stories: 2500 },
] as const;

/** The account whose purchases fit linked wallets best. Stories are told of the few that fit well, and more of the best of those. */
function bestByPurchases(
  people: readonly Life[],
  deposits: Life['deposits'],
  { lots, weights, random }: { readonly lots: number; readonly weights: Weights; readonly random: Random },
): number {
  let fitting = people.flatMap((person, at) => {
    const seen = placePurchases(person, deposits, lots);
    const score = seen === undefined ? 0 : scoreOf(weights, seen);
    return seen === undefined ? [] : [{ at, person, score, told: score }];
  });
  for (const { among, stories } of rounds) {
    if (fitting.length < 2) break;
    fitting = fitting
      .sort((a, b) => b.told - a.told)
      .slice(0, among)
      .map((each) => ({
        ...each,
        told: likelihood(each.person, deposits, { lots, stories, random }) + each.score / 2,
      }));
  }
  return fitting.sort((a, b) => b.told - a.told)[0]?.at ?? -1;
}

export interface Guessed {
  /** The share of people whose account was guessed right, from one deposit, and from six weeks of linked wallets. */
  readonly one: number;
  readonly weeks: number;
}

/** Guesses the accounts of `targets` people among `accounts`: from one deposit, and for the first `linked` of them from weeks. The same seed gives the same result. */
export function guess(
  habit: Habits,
  { accounts, targets, linked, seed }: { accounts: number; targets: number; linked: number; seed: number },
): Guessed {
  const random = new Random(seed);
  const population = (count: number): Life[] => Array.from({ length: count }, () => live(random, habit));
  const learned = population(3000);
  const weights = learn(learned, random);
  const purchases = habit.apart ? learnPurchases(learned, habit.lots, random) : [];
  // An account that buys just before a run is known by the second.
  const bestOfWeeks = (people: readonly Life[], wallets: Life['deposits']): number =>
    habit.apart
      ? bestByPurchases(people, wallets, { lots: habit.lots, weights: purchases, random })
      : best(people, wallets, weights, random);
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
      if (best(people, [single], weights, random) === target) one += 1;
      if (asked <= linked && bestOfWeeks(people, wallets) === target) many += 1;
    }
  }
  return { one: one / asked, weeks: many / Math.min(asked, linked) };
}

/** An account that fits worse is given up before all its deposits are compared. */
const hopeless = -60;

/** The account that fits these deposits best. Of those that fit alike, a random one. */
function best(people: readonly Life[], deposits: Life['deposits'], weights: Weights, random: Random): number {
  let [found, highest, alike] = [-1, -never, 0];
  const into = new Int32Array(bins.length);
  for (const [at, person] of people.entries()) {
    let score = 0;
    for (let each = 0; each < deposits.length && score > hopeless; each += 1) {
      compare(person, deposits[each] ?? { at: 0, spent: 0 }, into);
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
  const { one, weeks } = guess(habit, { accounts, targets: accounts > 100 ? 400 : 2_000, linked: 400, seed: 30 });
  const percent = (share: number): string => (share < 0.01 ? '<1' : String(Math.round(share * 100)));
  return `${percent(one)} / ${percent(weeks)} %`;
}

if (import.meta.main) {
  for (const [name, habit] of Object.entries(habits)) {
    const cells = [20, 1_000, 100_000].map((accounts) => cellOf(habit, accounts));
    process.stdout.write(`| ${[name, ...cells].join(' | ')} |\n`);
  }
}
