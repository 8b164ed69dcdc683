/**
 * How well an operator who has both planes' logs, with exact times, guesses the account behind an anonymous wallet. The operator sees
 * each account's withdrawals and each wallet's deposit and spending. It learns from other people of the same kind how withdrawals and
 * deposits of one person relate, and names the account that fits best (a softmax over accounts). Where one batch is bought at a time of its
 * own, it tells possible lives of the accounts that fit one wallet. In `weeks` it also knows which wallets belong together, as requests
 * that name a person would tell. Their spending says when a person must buy the next batch, so that each purchase has its place, and an
 * account that cannot have paid is ruled out. Among those that can have paid, a particle filter tells how likely the purchases are.
 * Independent attacks found most of this.
 *
 * Run it: `node --conditions=@sotto/source tools/wallet-guessing/guess.ts`. It takes hours, and writes `computed.json`.
 */
import { writeFileSync } from 'node:fs';
import { Random } from '../../test/kit/random.ts';
import { bestByPurchases, learnPurchases } from './linked-wallets.ts';
import { type Deposit, days, guessedFrom, type Habits, habits, type Life, live, never } from './people.ts';
import { Teller } from './possible-lives.ts';
import { binOf, type Seen, step, type Weights } from './softmax.ts';

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
const gapOf = (from: number | undefined, to: number | undefined): number =>
  from === undefined || to === undefined ? gaps.length + 1 : binOf(gaps, to - from);

/**
 * Compares an account with a deposit. Features: the times to the withdrawals before and after, each with the spending; hours from the
 * account's usual hour; how often the account buys; and since when.
 */
function compare({ withdrawals, hour }: Life, { at, spent }: Deposit, into: Int32Array): void {
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

function featureScore(person: Life, deposit: Deposit, weights: Weights, into = new Int32Array(bins.length)): number {
  compare(person, deposit, into);
  let score = 0;
  for (let feature = 0; feature < bins.length; feature += 1) score += weights[feature]?.[into[feature] ?? 0] ?? 0;
  return score;
}

/** An account that fits worse is given up before all its deposits are compared. */
const hopeless = -60;

/** The account that fits these deposits best. Of those that fit alike, a random one. */
function best(people: readonly Life[], deposits: readonly Deposit[], weights: Weights, random: Random): number {
  let [found, highest, alike] = [-1, -never, 0];
  const into = new Int32Array(bins.length);
  for (const [at, person] of people.entries()) {
    let score = 0;
    for (let each = 0; each < deposits.length && score > hopeless; each += 1)
      score += featureScore(person, deposits[each] ?? { at: 0, spent: 0 }, weights, into);
    if (score < highest) continue;
    alike = score > highest ? 1 : alike + 1;
    if (score > highest || random.below(alike) === 0) found = at;
    highest = score;
  }
  return found;
}

/** Possible lives are told of so many accounts that fit one deposit best. */
const listed = 20;

/** For each deposit, the account whose purchases it makes likeliest. */
function bestByLives(
  people: readonly Life[],
  deposits: readonly Deposit[],
  { weights, teller }: { readonly weights: Weights; readonly teller: Teller },
): number[] {
  const lists = deposits.map((deposit) => {
    const scores = people.map((person) => featureScore(person, deposit, weights));
    const order = [...people.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    return new Set(order.slice(0, listed));
  });
  const named = deposits.map(() => ({ at: -1, ratio: -never }));
  for (const [at, { withdrawals }] of people.entries()) {
    const asked = [...deposits.keys()].filter((which) => lists[which]?.has(at));
    if (asked.length === 0) continue;
    const ratios = teller.ratios(
      withdrawals,
      asked.flatMap((which) => deposits[which] ?? []),
    );
    for (const [index, which] of asked.entries()) {
      const ratio = ratios[index] ?? -never;
      if (ratio > (named[which]?.ratio ?? -never)) named[which] = { at, ratio };
    }
  }
  return named.map(({ at }) => at);
}

export interface Guessed {
  /** The share of people whose account was guessed right, from one deposit, and from six weeks of linked wallets. */
  readonly one: number;
  readonly weeks: number;
}

/** Whether possible lives tell more than features do. */
const toldOf = ({ apart, batches }: Habits): boolean => apart && batches === 1;

interface Question {
  readonly accounts: number;
  readonly targets: number;
  readonly linked: number;
}

/** Guesses the accounts of `targets` people among `accounts`: from one deposit, and for the first `linked` of them from weeks. The same seed gives the same result. */
export const guess = (habit: Habits, { seed, ...question }: Question & { readonly seed: number }): Guessed =>
  guessWith(new Random(seed), habit, question);

function guessWith(random: Random, habit: Habits, { accounts, targets, linked }: Question): Guessed {
  const population = (count: number): Life[] => Array.from({ length: count }, () => live(random, habit));
  const learned = population(3000);
  const weights = learn(learned, random);
  const purchases = habit.apart ? learnPurchases(learned, habit.batches, random) : [];
  // An account that buys just before a run is known by the second.
  const bestOfWeeks = (people: readonly Life[], wallets: readonly Deposit[]): number =>
    habit.apart
      ? bestByPurchases(people, wallets, { batches: habit.batches, weights: purchases, random })
      : best(people, wallets, weights, random);
  const byLives = toldOf(habit) ? new Teller(random) : undefined;
  let [asked, one, many] = [0, 0, 0];
  while (asked < targets) {
    const people = population(accounts);
    const singles: { readonly deposit: Deposit; readonly target: number }[] = [];
    const inOne = Math.min(targets - asked, accounts < 1000 ? 5 : targets);
    for (let left = inOne; left > 0; left -= 1) {
      const target = random.below(people.length);
      const wallets = people[target]?.deposits ?? [];
      const recent = wallets.filter(({ at }) => at >= guessedFrom);
      const single = recent[random.below(Math.max(1, recent.length))];
      asked += 1;
      if (single === undefined) continue;
      if (byLives !== undefined) singles.push({ deposit: single, target });
      else if (best(people, [single], weights, random) === target) one += 1;
      if (asked <= linked && bestOfWeeks(people, wallets) === target) many += 1;
    }
    if (byLives !== undefined) {
      const named = bestByLives(
        people,
        singles.map(({ deposit }) => deposit),
        { weights, teller: byLives },
      );
      one += singles.filter(({ target }, which) => named[which] === target).length;
    }
  }
  return { one: one / asked, weeks: many / Math.min(asked, linked) };
}

/** The threat model's cell of a habit among so many accounts. */
export function cellOf(habit: Habits, accounts: number): string {
  // Possible lives take a fifth of a second for each.
  const few = toldOf(habit) ? 1_000 : 2_000;
  const { one, weeks } = guess(habit, { accounts, targets: accounts > 100 ? 400 : few, linked: 400, seed: 30 });
  const percent = (share: number): string => (share < 0.01 ? '<1' : String(Math.round(share * 100)));
  return `${percent(one)} / ${percent(weeks)} %`;
}

/**
 * What a small run says of a habit: how many it guessed, and the next random number, which another number of draws would change. It takes
 * seconds. While it stays the same, the cells do.
 */
export function sampleOf(habit: Habits): string {
  const random = new Random(30);
  const targets = toldOf(habit) ? 15 : 40;
  const { one, weeks } = guessWith(random, habit, { accounts: 20, targets, linked: targets });
  return [one, weeks, random.next()].map((each) => each.toFixed(6)).join(' ');
}

if (import.meta.main) {
  const computed: Record<string, { cells: string[]; sample: string }> = {};
  for (const [name, habit] of Object.entries(habits)) {
    const cells = [20, 1_000, 100_000].map((accounts) => cellOf(habit, accounts));
    computed[name] = { cells, sample: sampleOf(habit) };
    process.stdout.write(`| ${[name, ...cells].join(' | ')} |\n`);
  }
  writeFileSync(new URL('computed.json', import.meta.url), `${JSON.stringify(computed, undefined, 2)}\n`);
}
