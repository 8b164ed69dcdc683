import type { ContenderKind } from './contenders/contender.ts';
import { openRouter } from './contenders/open-router.ts';
import { sotto } from './contenders/sotto.ts';
import { runDay } from './run-day.ts';
import { type Result, Tally } from './tally.ts';
import { type Climate, drawWorld } from './world/world.ts';

/** The router's limit of attempts. All contenders except one use it. */
const maxAttempts = 3;

export const contenders = {
  default: sotto('Default', { preferences: { provider_sort: 'default' } }),
  stepsDown: sotto('Default, may fall back to `private`', {
    preferences: { provider_sort: 'default', fallback_floor: 'private' },
  }),
  privacy: sotto('privacy', { preferences: { provider_sort: 'privacy' } }),
  price: sotto('price', { preferences: { provider_sort: 'price' } }),
  priceAnonymous: sotto('price, `anonymous` allowed', { provider: { sort: 'price', minimum_privacy: 'anonymous' } }),
  latency: sotto('latency', { preferences: { provider_sort: 'latency' } }),
  openRouter: openRouter("OpenRouter's rule", maxAttempts),
  openRouterUnlimited: openRouter("OpenRouter's rule, no limit of attempts", Number.POSITIVE_INFINITY),
} satisfies Record<string, ContenderKind>;
export type ContenderName = keyof typeof contenders;

/** Some days of one climate, and the contenders that are compared on them. */
export interface Comparison<Name extends ContenderName = ContenderName> {
  readonly climate: Climate;
  readonly seeds: readonly number[];
  readonly names: readonly Name[];
}

export type Results<Name extends ContenderName = ContenderName> = ReadonlyMap<Name, Result>;

/** Lets each contender serve the same days. Calls `onDay` with each completed seed. */
export function compare<Name extends ContenderName>(
  { climate, seeds, names }: Comparison<Name>,
  onDay: (seed: number) => void = () => {},
): Results<Name> {
  const tallies = new Map(names.map((name) => [name, new Tally()]));
  for (const seed of seeds) {
    const world = drawWorld(seed, climate);
    for (const [name, tally] of tallies) runDay(world, contenders[name], (ending) => tally.add(world, ending));
    onDay(seed);
  }
  return new Map([...tallies].map(([name, tally]) => [name, tally.result()]));
}

const ordinary = { perSecond: 0.5, trouble: 1, teeRoutes: 5 } as const;
const days = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** The comparisons in the documentation, by name. */
export const comparisons = {
  /** An ordinary day with enough providers in every tier. */
  ordinary: {
    climate: ordinary,
    seeds: days(10),
    names: ['default', 'privacy', 'price', 'priceAnonymous', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Four times as many outages, rate limits and slowdowns. */
  bad: {
    climate: { ...ordinary, trouble: 4 },
    seeds: days(10),
    names: ['default', 'privacy', 'price', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
  /** Only one enclave serves each model, so requests that require it have no fallback. */
  thin: {
    climate: { ...ordinary, teeRoutes: 1 },
    seeds: days(5),
    names: ['default', 'stepsDown', 'privacy', 'price', 'openRouter'],
  },
  /** The ordinary day with a fifth of the traffic, small enough for every test run. */
  small: {
    climate: { ...ordinary, perSecond: 0.1 },
    seeds: days(3),
    names: ['default', 'privacy', 'price', 'latency', 'openRouter', 'openRouterUnlimited'],
  },
} as const satisfies Record<string, Comparison>;
