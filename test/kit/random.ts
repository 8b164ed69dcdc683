/** A random generator that a seed determines (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Returns an integer from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Returns a random item; undefined if the list is empty. */
  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  /** Returns a random choice, by weight. */
  weighted<T extends string>(weights: Readonly<Record<T, number>>): T {
    const names = Object.keys(weights) as T[];
    let left = this.next() * names.reduce((sum, name) => sum + weights[name], 0);
    for (const name of names) {
      left -= weights[name];
      if (left < 0) return name;
    }
    throw new Error('no choice');
  }
}

/**
 * A source of randomness for one subject, such as one route of one simulated world. The same numbers identify the same
 * subject, so the order of draws does not matter.
 */
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

/** Draws log-uniformly: every order of magnitude between the two is equally likely. */
export const logBetween = (random: Random, least: number, most: number): number =>
  Math.exp(between(random, Math.log(least), Math.log(most)));

/** Draws log-normally. Half of the values are below the median. `spread` is the deviation of the logarithm. */
export const around = (random: Random, median: number, spread: number): number =>
  median * Math.exp(spread * standardNormal(random));

/** The Box-Muller transform of two uniform numbers. */
export const standardNormal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

/** Draws the number of events if `mean` events happen on average (Knuth's multiplication, for small means). */
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
