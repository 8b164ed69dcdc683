import type { Random } from '../../test/kit/random.ts';
import { type Deposit, type Life, never } from './people.ts';
import { binOf, type Seen, scoreOf, step, type Weights } from './softmax.ts';

/**
 * The attack of an operator who knows all wallets of a person, and the schedule. A schedule buys whatever is used, so its purchases say only three
 * things: when the account began, when it could not pay, and which lot a run had waited for. The operator learns from others how likely each is,
 * and rules out accounts that cannot have paid.
 */

/** Hours from the first purchase to the first deposit. */
const begins = [
  ...[1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 32, 36, 42, 48, 54, 60, 72, 84, 96, 108, 120, 132, 144],
  ...[156, 168, 180, 192, 216, 240, 288, 336, 360, 400, 480, 600],
];
/** Hours from the purchase of a lot that a deposit needed. */
const lags = [1, 2, 4, 8, 12, 16, 20, 24, 30, 36, 48, 72, 120];
/** Hours between two deposits, or from the last one to the end. */
const silences = [6, 12, 24, 36, 48, 72, 96, 144, 240];
const features = [begins, lags, silences, silences];
/** A lot rests for at least an hour. */
const leastRestH = 0.999;

/** What is seen of an account that could have made these deposits. Undefined: it cannot have paid for them. */
function seenOf({ withdrawals }: Life, deposits: readonly Deposit[], end: number): Seen | undefined {
  const seen: [number, number][] = [];
  let [bought, used, before] = [0, 0, never];
  const silent = (since: number, until: number, canPay: boolean): void => {
    if (until > since) seen.push([canPay ? 3 : 2, binOf(silences, until - since)]);
  };
  for (const { at, spent } of deposits) {
    // Before this deposit, could the account have made another one?
    const couldPay = bought * 50 - used >= 50;
    while ((withdrawals[bought] ?? never) <= at - leastRestH) bought += 1;
    if (used + 50 > bought * 50) return undefined;
    if (before === never) seen.push([0, binOf(begins, at - (withdrawals[0] ?? 0))]);
    else silent(before, at, couldPay);
    if (used + 50 > (bought - 1) * 50) seen.push([1, binOf(lags, at - (withdrawals[bought - 1] ?? 0))]);
    used += spent;
    before = at;
  }
  silent(before, end, bought * 50 - used >= 50);
  return seen;
}

/** Learns how likely each feature is, from people and strangers who can have paid, too. */
export function learnSchedules(people: readonly Life[], end: number, random: Random): Weights {
  const weights = features.map((bounds) => new Array<number>(bounds.length + 1).fill(0));
  const sets = people.flatMap((person) => {
    const own = person.deposits.length === 0 ? undefined : seenOf(person, person.deposits, end);
    if (own === undefined) return [];
    const candidates = [own];
    const from = random.below(people.length);
    for (let next = 0; next < people.length && candidates.length < 12; next += 1) {
      const stranger = people[(from + next) % people.length] ?? person;
      const seen = stranger === person ? undefined : seenOf(stranger, person.deposits, end);
      if (seen !== undefined) candidates.push(seen);
    }
    return candidates.length > 1 ? [candidates] : [];
  });
  for (let round = 0; round < 30; round += 1)
    for (const candidates of sets) step(weights, candidates, 0.05 * (1 - round / 30));
  return weights;
}

/** Of so many accounts that fit the schedule best, the operator looks at everything that it knows. */
const listed = 300;

interface Known {
  readonly end: number;
  readonly weights: Weights;
  readonly random: Random;
}

/** The accounts that can have paid for these deposits, with their scores, the best first. Those that fit alike are in random order. */
export const fittingSchedule = (
  people: readonly Life[],
  deposits: readonly Deposit[],
  { end, weights, random }: Known,
): { readonly at: number; readonly score: number }[] =>
  people
    .flatMap((person, at) => {
      const seen = seenOf(person, deposits, end);
      return seen === undefined ? [] : [{ at, score: scoreOf(weights, seen), tie: random.next() }];
    })
    .sort((a, b) => b.score - a.score || a.tie - b.tie)
    .slice(0, listed);
