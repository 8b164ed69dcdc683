import { cost, noUsage } from '@sotto/money';
import type { Catalog, Route, RoutingRequest } from '@sotto/router';
import type { PrivacyClass } from '@sotto/wire';
import { around, between, logBetween, randomOf, shuffled } from '../../../test/kit/random.ts';
import { type DatedCatalog, drawCatalogs, models } from './catalogs.ts';
import { type Disturbance, drawDisturbances } from './disturbances.ts';

/** The size of a day, and how much goes wrong. */
export interface Climate {
  /** Average requests per second. */
  readonly perSecond: number;
  /** How much more often something fails than on an ordinary day. */
  readonly trouble: number;
  /** The number of `tee` providers that serve each model. */
  readonly teeRoutes: number;
}

export const hours = 24;

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

function drawProviders(seed: number): SimulatedProvider[] {
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

/** One request on arrival: its sizes, without content. */
export interface SimulatedRequest {
  /** Position in the day. It also seeds the request's random numbers. */
  readonly index: number;
  /** In ms since the day's start. */
  readonly arrivesAt: number;
  readonly modelId: string;
  readonly promptTokens: number;
  /** The share of the prompt that a caching provider has cached. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** The broker that it arrives at. */
  readonly broker: number;
  /** The policy that its client sends, if it decides for itself. */
  readonly provider?: RoutingRequest['provider'];
}

export const brokers = 2;
const hourMs = 3_600_000;
const busiestHour = 15;

/** A day's requests in order of arrival: most in the afternoon, fewest twelve hours later. */
function drawTraffic(seed: number, perSecond: number): SimulatedRequest[] {
  const random = randomOf(seed, 5);
  const popularity = Object.fromEntries(models.map(({ id }, at) => [id, 1 / (at + 1)]));
  const requests: SimulatedRequest[] = [];
  // Thinning: draw arrivals at the day's highest rate, and keep the share that the hour has.
  const most = perSecond * 1.6;
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random.next()) / most) * 1000;
    if (at >= hours * hourMs) return requests;
    const rate = 1 + 0.6 * Math.cos(((at / hourMs - busiestHour) / 24) * 2 * Math.PI);
    if (!random.chance(rate / 1.6)) continue;
    const promptTokens = Math.ceil(Math.min(around(random, 1200, 1.1), 60_000));
    requests.push({
      index: requests.length,
      arrivesAt: at,
      modelId: random.weighted(popularity),
      promptTokens,
      cachedTokens: random.chance(0.4) ? Math.floor(promptTokens * between(random, 0.5, 0.9)) : 0,
      completionTokens: Math.ceil(Math.min(around(random, 250, 0.9), 8000)),
      broker: random.below(brokers),
    });
  }
}
