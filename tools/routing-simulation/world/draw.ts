import { Random } from '../../../test/money/simulation/random.ts';

/** A source of randomness for one thing of one world: the same numbers name the same thing, whoever asks and when. */
export function randomOf(...names: readonly number[]): Random {
  let hash = 0x811c9dc5;
  for (const name of names) {
    hash = Math.imul(hash ^ name, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return new Random(hash);
}

export const between = (random: Random, least: number, most: number): number => least + random.next() * (most - least);

/** Every order of magnitude between the two is as likely as any other. */
export const logBetween = (random: Random, least: number, most: number): number =>
  Math.exp(between(random, Math.log(least), Math.log(most)));

/** Log-normal: half of what is drawn is below the median; `spread` is the deviation of the logarithm. */
export const around = (random: Random, median: number, spread: number): number =>
  median * Math.exp(spread * standardNormal(random));

/** Box and Muller's transform of two uniform numbers. */
const standardNormal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

/** How often something happens that happens `mean` times on average (Knuth's multiplication; for small means). */
export function poisson(random: Random, mean: number): number {
  let times = -1;
  for (let product = 1; product > Math.exp(-mean); product *= random.next()) times += 1;
  return times;
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
