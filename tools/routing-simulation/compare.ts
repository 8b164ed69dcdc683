import type { PrivacyClass } from '@sotto/wire';
import { openRouter } from './contenders/open-router.ts';
import { sotto } from './contenders/sotto.ts';
import { type ContenderKind, type Ending, runDay } from './run-day.ts';
import { type Climate, cheapestCost, costOn, drawWorld, type World } from './world/world.ts';

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

/** The results of one contender's days. Costs are in USD per request, times in ms. */
export interface Result {
  readonly requests: number;
  readonly successRate: number;
  /** Of the successful requests. */
  readonly medianCost: number;
  readonly meanCost: number;
  /** Their total cost relative to the cheapest listed route of the tier that served each request. */
  readonly costToCheapest: number;
  readonly ttftMs: { readonly p50: number; readonly p95: number };
  /** The share of each tier in the successful requests. */
  readonly tiers: Readonly<Record<PrivacyClass, number>>;
  /** The share of requests that the first provider served. */
  readonly firstServed: number;
}

export class Tally {
  #requests = 0;
  #firstServed = 0;
  #cheapest = 0;
  readonly #costs: number[] = [];
  readonly #ttfts: number[] = [];
  readonly #tiers: Record<PrivacyClass, number> = { anonymous: 0, private: 0, tee: 0, e2ee: 0 };

  add(world: World, { request, route, success, ttftMs, attempts }: Ending): void {
    this.#requests += 1;
    if (!success || route === undefined || ttftMs === undefined) return;
    if (attempts === 1) this.#firstServed += 1;
    this.#costs.push(costOn(route, request));
    this.#cheapest += cheapestCost(world, request, route.privacyClass);
    this.#ttfts.push(ttftMs);
    this.#tiers[route.privacyClass] += 1;
  }

  result(): Result {
    const served = this.#costs.length;
    const sum = this.#costs.reduce((total, cost) => total + cost, 0);
    const share = (tier: PrivacyClass): number => this.#tiers[tier] / served;
    return {
      requests: this.#requests,
      successRate: served / this.#requests,
      medianCost: quantile(this.#costs, 0.5),
      meanCost: sum / served,
      costToCheapest: sum / this.#cheapest,
      ttftMs: { p50: quantile(this.#ttfts, 0.5), p95: quantile(this.#ttfts, 0.95) },
      tiers: { anonymous: share('anonymous'), private: share('private'), tee: share('tee'), e2ee: share('e2ee') },
      firstServed: this.#firstServed / this.#requests,
    };
  }
}

/** Returns the value below which this share of the values lies. Sorts them. */
function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b);
  return values[Math.ceil(values.length * share) - 1] ?? Number.NaN;
}
