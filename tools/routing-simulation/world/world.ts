import { cost, noUsage } from '@sotto/money';
import type { Catalog, Route } from '@sotto/router';
import type { PrivacyClass } from '@sotto/wire';
import { type DatedCatalog, drawCatalogs } from './catalogs.ts';
import { type Disturbance, drawDisturbances } from './disturbances.ts';
import { drawProviders, type SimulatedProvider } from './providers.ts';
import { drawTraffic, type SimulatedRequest } from './traffic.ts';

/** The size of a day, and how much goes wrong. */
export interface Climate {
  /** Average requests per second. */
  readonly perSecond: number;
  /** How much more often something fails than on an ordinary day. */
  readonly trouble: number;
  /** The number of `tee` providers that serve each model. */
  readonly teeRoutes: number;
}

/** One day, drawn completely before any contender plans. Every event is the same for each contender. */
export interface World {
  readonly seed: number;
  readonly providers: readonly SimulatedProvider[];
  readonly requests: readonly SimulatedRequest[];
  /** The catalog that is active at a time in ms since the day's start. */
  catalogAt(ms: number): Catalog;
  providerOf(route: Route): SimulatedProvider;
  /** The disturbances of the route's provider that affect this route. */
  disturbancesOf(route: Route, ms: number): readonly Disturbance[];
}

export function drawWorld(seed: number, { perSecond, trouble, teeRoutes }: Climate): World {
  const providers = drawProviders(seed);
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const catalogs = drawCatalogs(seed, providers, teeRoutes);
  const disturbances = drawDisturbances(seed, { trouble, providers });
  const providerOf = (route: Route): SimulatedProvider => {
    const provider = byId.get(route.providerId);
    if (provider === undefined) throw new Error(`${route.providerId} is not of this world`);
    return provider;
  };
  return {
    seed,
    providers,
    requests: drawTraffic(seed, perSecond),
    catalogAt: (ms) => catalogAt(catalogs, ms),
    providerOf,
    disturbancesOf: (route, ms) =>
      (disturbances[providerOf(route).rank] ?? []).filter(
        (found) =>
          found.fromMs <= ms && ms < found.toMs && (found.kind !== 'withdrawn' || found.modelId === route.modelId),
      ),
  };
}

function catalogAt(catalogs: readonly DatedCatalog[], ms: number): Catalog {
  const inForce = catalogs.findLast(({ fromMs }) => fromMs <= ms);
  if (inForce === undefined) throw new Error(`no catalog is in force at ${ms} ms`);
  return inForce.catalog;
}

/** The price of a request on a route, in USD. */
export function costOn(route: Route, { promptTokens, cachedTokens, completionTokens }: SimulatedRequest): number {
  return Number(cost({ ...noUsage, promptTokens, cachedTokens, completionTokens }, route.price)) / 1e9;
}

/** The price of a request on the cheapest route of a tier, in USD, at the prices of its arrival. */
export function cheapestCost(world: World, request: SimulatedRequest, tier: PrivacyClass): number {
  const routes = world.catalogAt(request.arrivesAt).models.get(request.modelId)?.routes ?? [];
  return Math.min(...routes.filter(({ privacyClass }) => privacyClass === tier).map((route) => costOn(route, request)));
}
