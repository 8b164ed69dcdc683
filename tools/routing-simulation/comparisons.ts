import type { Comparison } from './compare.ts';

const ordinary = { perSecond: 0.5, trouble: 1, teeRoutes: 5 } as const;
const days = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** What the documentation shows, each under its name there. */
export const comparisons = {
  /** Enough providers in every tier, and a day as most days are. */
  ordinary: {
    climate: ordinary,
    seeds: days(10),
    names: ['default', 'privacy', 'price', 'priceAnonymous', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Four times as many outages, rate limits and slow-downs. */
  bad: {
    climate: { ...ordinary, trouble: 4 },
    seeds: days(10),
    names: ['default', 'privacy', 'price', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Models that only one enclave serves: where nothing weaker is allowed, there is nothing to fall back to. */
  thin: {
    climate: { ...ordinary, teeRoutes: 1 },
    seeds: days(5),
    names: ['default', 'stepsDown', 'privacy', 'price', 'openRouter'],
  },
  /** The ordinary day with a fifth of the traffic: small enough to be run by every test run. */
  small: {
    climate: { ...ordinary, perSecond: 0.1 },
    seeds: days(3),
    names: ['default', 'privacy', 'price', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
} as const satisfies Record<string, Comparison>;
