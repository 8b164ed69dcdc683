import type { PrivacyClass } from '@sotto/wire';
import type { Ending } from './run-day.ts';
import { cheapestCost, costOn, type World } from './world/world.ts';

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
