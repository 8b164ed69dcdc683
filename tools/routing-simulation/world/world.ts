import { cost, noUsage } from '@sotto/money';
import type { Catalog, Route } from '@sotto/router';
import type { PrivacyClass } from '@sotto/wire';
import { type DatedCatalog, drawCatalogs } from './catalogs.ts';
import { type Disturbance, drawDisturbances } from './disturbances.ts';
import { drawProviders, type SimulatedProvider } from './providers.ts';
import { drawTraffic, type SimulatedRequest } from './traffic.ts';

/** How large a day is, and how hard. */
export interface Climate {
  /** Requests a second on average. */
  readonly perSecond: number;
  /** How many times as often as on an ordinary day something is wrong somewhere. */
  readonly trouble: number;
  /** How many providers of the tier `tee` serve each model. */
  readonly teeRoutes: number;
}

export const hours = 24;

/** One day, drawn whole before anybody plans: everything that happens in it is the same for each contender. */
export interface World {
  readonly seed: number;
  readonly providers: readonly SimulatedProvider[];
  readonly requests: readonly SimulatedRequest[];
  /** The catalog in force at an instant, in ms since the day's start. */
  catalogAt(ms: number): Catalog;
  providerOf(route: Route): SimulatedProvider;
  /** What is wrong with the route's provider, as far as it touches this route. */
  disturbancesOf(route: Route, ms: number): readonly Disturbance[];
}

export function drawWorld(seed: number, { perSecond, trouble, teeRoutes }: Climate): World {
  const providers = drawProviders(seed);
  const byId = new Map(providers.map((provider) => [provider.id, provider]));
  const catalogs = drawCatalogs(seed, providers, teeRoutes);
  const disturbances = drawDisturbances(seed, { hours, trouble, providers });
  const providerOf = (route: Route): SimulatedProvider => {
    const provider = byId.get(route.providerId);
    if (provider === undefined) throw new Error(`${route.providerId} is not of this world`);
    return provider;
  };
  return {
    seed,
    providers,
    requests: drawTraffic(seed, { hours, perSecond }),
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

/** What a request costs on a route, in USD. */
export function costOn(route: Route, { promptTokens, cachedTokens, completionTokens }: SimulatedRequest): number {
  return Number(cost({ ...noUsage, promptTokens, cachedTokens, completionTokens }, route.price)) / 1e9;
}

/** What a request would have cost at the cheapest route of a tier, in USD, by the prices at its arrival. */
export function cheapestCost(world: World, request: SimulatedRequest, tier: PrivacyClass): number {
  const routes = world.catalogAt(request.arrivesAt).models.get(request.modelId)?.routes ?? [];
  return Math.min(...routes.filter(({ privacyClass }) => privacyClass === tier).map((route) => costOn(route, request)));
}
