import type { PrivacyClass } from '@sotto/wire';
import { around, logBetween, randomOf, shuffled } from '../../../test/kit/random.ts';

/** One provider on an ordinary day, before any disturbance. */
export interface SimulatedProvider {
  readonly id: string;
  /** Position in the registry. It also seeds the provider's random numbers. */
  readonly rank: number;
  readonly tier: PrivacyClass;
  /** Providers of one region fail together. */
  readonly region: number;
  /** Its price relative to the average of its tier. */
  readonly priceFactor: number;
  /** Price of cached input relative to the input price. Undefined if caching makes no difference. */
  readonly cachedInputFactor: number | undefined;
  readonly medianTtftMs: number;
  readonly tokensPerSecond: number;
  /** The share of attempts that fail before output on an ordinary day. */
  readonly failureRate: number;
  /** The share of answers that break off. */
  readonly breakRate: number;
}

/** The number of providers of each tier, 50 in total. */
export const providersByTier: Readonly<Record<PrivacyClass, number>> = { anonymous: 24, private: 14, tee: 9, e2ee: 3 };
export const regions = 6;
/** The number of providers that fail far more often than the others, all day. */
const chronicallySick = 4;

export function drawProviders(seed: number): SimulatedProvider[] {
  const random = randomOf(seed, 1);
  const tiers = shuffled(
    random,
    Object.entries(providersByTier).flatMap(([tier, count]) => Array<PrivacyClass>(count).fill(tier as PrivacyClass)),
  );
  const sick = new Set(shuffled(random, [...tiers.keys()]).slice(0, chronicallySick));
  return tiers.map((tier, rank) => ({
    id: `provider-${String(rank + 1).padStart(2, '0')}`,
    rank,
    tier,
    region: random.below(regions),
    priceFactor: around(random, 1, 0.25),
    cachedInputFactor: random.chance(0.6) ? logBetween(random, 0.1, 0.5) : undefined,
    medianTtftMs: around(random, 600, 0.45),
    tokensPerSecond: around(random, 60, 0.45),
    failureRate: sick.has(rank) ? logBetween(random, 0.05, 0.3) : logBetween(random, 0.0005, 0.02),
    breakRate: logBetween(random, 0.00005, 0.0005),
  }));
}
