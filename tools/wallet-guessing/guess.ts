/**
 * How well an operator who has both planes' logs, with exact times, guesses the account behind an anonymous wallet. The operator sees
 * each account's withdrawals and each wallet's deposit and spending. It learns from other people of the same kind how withdrawals and
 * deposits of one person relate, and names the account that fits best (a softmax over accounts). In `weeks` it also knows which wallets
 * belong together, as requests that name a person would tell. There it takes the best of three attacks: by the sum of what each wallet says,
 * by the schedule, which it knows (`linked-wallets.ts`), and by both.
 *
 * Run it: `node --conditions=@sotto/source tools/wallet-guessing/guess.ts`. It takes many minutes, and writes `computed.json`.
 */
import { writeFileSync } from 'node:fs';
import { Random } from '../../test/kit/random.ts';
import { fittingSchedule, learnSchedules } from './linked-wallets.ts';
import { type Deposit, days, guessedFrom, type Habits, habits, type Life, live, never } from './people.ts';
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

const nobody: Life = { withdrawals: [], deposits: [], hour: 0 };
/** Among more accounts, the sum is only taken of those that fit the schedule, and fewer targets are asked about. */
const most = 10_000;
/** How much the sum counts beside the schedule. What wallets of one person say is not independent. */
const shareOfSum = 0.3;

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

export interface Guessed {
  /** The share of people whose account was guessed right, from one deposit, and from six weeks of linked wallets. */
  readonly one: number;
  readonly weeks: number;
}

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
  const known = { end: days * 24, weights: learnSchedules(learned, days * 24, random), random };
  /** The guesses of the three attacks. */
  const guesses = (people: readonly Life[], wallets: readonly Deposit[]): Record<keyof typeof many, number> => {
    const fitting = fittingSchedule(people, wallets, known);
    const both = fitting.map(({ at, score }) => {
      const sum = wallets.reduce((all, wallet) => all + featureScore(people[at] ?? nobody, wallet, weights), 0);
      return { at, score: score + shareOfSum * sum };
    });
    return {
      sum: habit.schedule && people.length > most ? -1 : best(people, wallets, weights, random),
      schedule: fitting[0]?.at ?? -1,
      both: both.sort((a, b) => b.score - a.score)[0]?.at ?? -1,
    };
  };
  let [asked, one] = [0, 0];
  const many = { sum: 0, schedule: 0, both: 0 };
  while (asked < targets) {
    const people = population(accounts);
    for (let left = Math.min(targets - asked, accounts < 1000 ? 5 : targets); left > 0; left -= 1) {
      const target = random.below(people.length);
      const wallets = people[target]?.deposits ?? [];
      const recent = wallets.filter(({ at }) => at >= guessedFrom);
      const single = recent[random.below(Math.max(1, recent.length))];
      asked += 1;
      if (single === undefined) continue;
      if (best(people, [single], weights, random) === target) one += 1;
      if (asked > linked) continue;
      const guessed = guesses(people, wallets);
      for (const attack of ['sum', 'schedule', 'both'] as const) if (guessed[attack] === target) many[attack] += 1;
    }
  }
  return { one: one / asked, weeks: Math.max(...Object.values(many)) / Math.min(asked, linked) };
}

/** The threat model's cell of a habit among so many accounts. */
export function cellOf(habit: Habits, accounts: number): string {
  const targets = accounts > most ? 100 : accounts > 100 ? 400 : 2_000;
  const { one, weeks } = guess(habit, { accounts, targets, linked: 400, seed: 30 });
  const percent = (share: number): string => (share < 0.01 ? '<1' : String(Math.round(share * 100)));
  return `${percent(one)} / ${percent(weeks)} %`;
}

/**
 * What a small run says of a habit: how many it guessed, and the next random number, which another number of draws would change. It takes
 * seconds. While it stays the same, the cells do.
 */
export function sampleOf(habit: Habits): string {
  const random = new Random(30);
  const { one, weeks } = guessWith(random, habit, { accounts: 20, targets: 40, linked: 40 });
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
