import type { Comparison } from './compare.ts';

const ordinary = { perSecond: 0.5, trouble: 1, teeRoutes: 5 } as const;
const seeds = [1, 2, 3, 4, 5] as const;

/** What the documentation shows, each under its name there. */
export const comparisons = {
  /** Enough providers in every tier, and a day as most days are. */
  ordinary: {
    climate: ordinary,
    seeds,
    names: ['default', 'privacy', 'price', 'priceAnonymous', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Four times as many outages, rate limits and slow-downs. */
  bad: {
    climate: { ...ordinary, trouble: 4 },
    seeds,
    names: ['default', 'privacy', 'price', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Models that only one enclave serves: where nothing weaker is allowed, there is nothing to fall back to. */
  thin: {
    climate: { ...ordinary, teeRoutes: 1 },
    seeds,
    names: ['default', 'stepsDown', 'privacy', 'price', 'openRouter'],
  },
  /** The ordinary day with a fifth of the traffic: small enough to be run by every test run. */
  small: {
    climate: { ...ordinary, perSecond: 0.1 },
    seeds: [1, 2, 3],
    names: ['default', 'privacy', 'price', 'latency', 'openRouter'],
  },
} as const satisfies Record<string, Comparison>;
