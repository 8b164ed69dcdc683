import { around, type Random, standardNormal } from '../../test/kit/random.ts';
import {
  closingH,
  type Deposit,
  days,
  firstBuyH,
  type Life,
  lastBuyH,
  meanHour,
  never,
  restingH,
  typical,
} from './people.ts';
import { binOf, type Seen, scoreOf, step, type Weights } from './softmax.ts';

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
function placePurchases({ withdrawals }: Life, deposits: readonly Deposit[], batches: number): Seen | undefined {
  const bought = batches === 1 ? withdrawals : withdrawals.filter((_, at) => at % batches === 0);
  const before = batches > 1 ? 1 : 2;
  let [stock, next, used] = [50 * batches * before, before, 0];
  const seen: [number, number][] = [];
  for (const [index, { at, spent }] of deposits.entries()) {
    if (stock < 100) {
      const earlier = deposits[index - 1]?.at ?? 0;
      const lag = (bought[next] ?? never) - at;
      if (lag > lastBuyH || at + lag < earlier + firstBuyH) return undefined;
      seen.push([waitsFrom + binOf(waits, at - earlier), binOf(lags, lag)]);
      next += 1;
      stock += 50 * batches;
    }
    // Credits rest for at least an hour.
    if ((bought[Math.ceil((used + 50) / (50 * batches)) - 1] ?? never) > at - 0.999) return undefined;
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
export function learnPurchases(people: readonly Life[], batches: number, random: Random): Weights {
  const weights = Array.from({ length: waitsFrom + waits.length + 1 }, () =>
    new Array<number>(lags.length + 1).fill(0),
  );
  const sets = people.flatMap((person) => {
    const own = person.deposits.length > 0 ? placePurchases(person, person.deposits, batches) : undefined;
    if (own === undefined) return [];
    const candidates = [own];
    const from = random.below(people.length);
    for (let next = 0; next < people.length && candidates.length < 12; next += 1) {
      const stranger = people[(from + next) % people.length] ?? person;
      const seen = stranger === person ? undefined : placePurchases(stranger, person.deposits, batches);
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
  deposits: readonly Deposit[],
  {
    batches,
    stories: storyCount,
    random,
  }: { readonly batches: number; readonly stories: number; readonly random: Random },
): number {
  const bought = withdrawals.filter((_, at) => at % batches === 0);
  const home = ((meanHour(deposits.map(({ at }) => at)) + 22) % 24) + 2;
  const dayOf = (at: number): number => Math.round((at - home) / 24);
  const [firstBought = 0] = bought;
  const firstDay = dayOf(deposits[0]?.at ?? 0);
  const earliest = Math.max(0, dayOf(firstBought - lastBuyH));
  const latest = Math.min(firstDay, dayOf(firstBought - firstBuyH));
  /** Takes the credits that are ready at a time. */
  const take = (story: Story, at: number): void => {
    for (; (bought[story.arrived] ?? never) <= at; story.arrived += 1) {
      for (let batch = 0; batch < batches; batch += 1)
        story.resting.push({ readyAt: (bought[story.arrived] ?? 0) + batch / 60 + restingH(random), count: 50 });
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
        at: day * 24 + home + typical.hourSpread * standardNormal(random),
        spent: 0,
      }));
      // In how many ways runs are the seen ones.
      let weight = seen.reduce((ways, _, each) => (ways * (runs - each)) / (each + 1), 1);
      for (const { at, spent } of [...seen, ...hidden].sort((a, b) => a.at - b.at)) {
        take(story, at);
        // A run that was seen had its batch, a hidden one had not.
        if (story.ready >= 50 !== spent > 0) return 0;
        if (story.stock < 100) {
          const fit = story.left.filter((each) => each > at + firstBuyH && each < at + lastBuyH);
          const [buys] = fit.splice(random.below(Math.max(1, fit.length)), 1);
          if (buys === undefined) return 0;
          weight *= (fit.length + 1) / (lastBuyH - firstBuyH);
          story.left.splice(story.left.indexOf(buys), 1);
          story.stock += 50 * batches;
        }
        if (spent === 0) continue;
        story.ready -= 50;
        story.resting.push({ readyAt: at + closingH(random) + restingH(random), count: 50 - spent });
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
export function bestByPurchases(
  people: readonly Life[],
  deposits: readonly Deposit[],
  { batches, weights, random }: { readonly batches: number; readonly weights: Weights; readonly random: Random },
): number {
  let fitting = people.flatMap((person, at) => {
    const seen = placePurchases(person, deposits, batches);
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
        told: likelihood(each.person, deposits, { batches, stories, random }) + each.score / 2,
      }));
  }
  return fitting.sort((a, b) => b.told - a.told)[0]?.at ?? -1;
}
