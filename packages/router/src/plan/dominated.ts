import type { Catalog, Model } from '../catalog/catalog.ts';
import type { Measurements } from '../health/measurement.ts';
import { type AutoStrategy, figureOf, latencyFigure } from './auto-strategy.ts';
import type { Demands } from './demands.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';
import { bestScore, measuredOf, type ScoredRoute, scoredRoutesOf } from './scored-route.ts';

/**
 * Whether every lead of a model is worse than this one. Compares the best figures of all its routes, without checking
 * which of them the request may use. Never true for a model that could win or draw.
 */
export function isDominated(
  model: Model,
  by: ScoredRoute,
  { strategy, demands, measurements }: { strategy: AutoStrategy; demands: Demands; measurements: Measurements },
): boolean {
  const { needs, floor } = demands;
  if (needs.encrypted) return false;
  const bounds = boundsOf(model);
  switch (strategy) {
    case 'cheapest':
      return from(bounds.price, floor) > by.price;
    case 'fastest': {
      const [least, mine] = [from(latencyBound(model, measurements), floor), figureOf('latency', by)];
      return least > mine || (least === mine && from(bounds.price, floor) > by.price);
    }
    case 'most_private':
      if (bounds.strength !== by.strength) return bounds.strength < by.strength;
      return from(bounds.price, by.strength) > by.price;
    case 'balanced':
      if (bounds.strength !== by.strength) return bounds.strength < by.strength;
      if (from(bounds.score, by.strength) > by.score) return true;
      return from(scoreBound(model, measurements), by.strength) > by.score;
    default:
      return strategy satisfies never;
  }
}

/**
 * Whether every plaintext route of a model exceeds the request's price ceiling. Does not examine the routes themselves.
 */
export function isTooDear(model: Model, { needs, floor, policy: { maxPrice } }: Demands): boolean {
  if (needs.encrypted) return false;
  const bounds = boundsOf(model);
  return from(bounds.input, floor) > maxPrice.input || from(bounds.output, floor) > maxPrice.output;
}

/** For each strength: the least figure among plaintext routes of at least that strength. */
type Least = readonly number[];

const from = (least: Least, strength: number): number => least[strength] ?? Number.POSITIVE_INFINITY;

const e2ee = strengthOf('e2ee');

function leastOf<Facts extends RouteFacts>(
  routes: readonly Facts[],
  figure: (route: Facts, at: number) => number,
): Least {
  const least = Array.from({ length: e2ee }, () => Number.POSITIVE_INFINITY);
  for (let at = 0; at < routes.length; at += 1) {
    const route = routes[at];
    if (route === undefined || route.strength === e2ee) continue;
    const own = figure(route, at);
    for (let strength = 0; strength <= route.strength; strength += 1) {
      least[strength] = Math.min(from(least, strength), own);
    }
  }
  return least;
}

interface Bounds {
  /** The strongest class that accepts plaintext. Negative for a model without such a route. */
  readonly strength: number;
  readonly price: Least;
  readonly input: Least;
  readonly output: Least;
  readonly score: Least;
}

const known = new WeakMap<Model, Bounds>();

function boundsOf(model: Model): Bounds {
  const found = known.get(model);
  if (found !== undefined) return found;
  const facts = modelFacts(model);
  const bounds = {
    strength: facts.reduce((most, { strength }) => (strength === e2ee ? most : Math.max(most, strength)), -1),
    price: leastOf(facts, ({ price }) => price),
    input: leastOf(facts, ({ input }) => input),
    output: leastOf(facts, ({ output }) => output),
    score: leastOf(facts, ({ cost }) => bestScore(cost)),
  };
  known.set(model, bounds);
  return bounds;
}

const latencies = new WeakMap<ReturnType<typeof measuredOf>, Least>();

/** The least time to first token. It needs only the measurements, so most models can be skipped cheaply. */
function latencyBound(model: Model, measurements: Measurements): Least {
  const measured = measuredOf(model, measurements);
  const found = latencies.get(measured);
  if (found !== undefined) return found;
  const bound = leastOf(modelFacts(model), (_, at) =>
    latencyFigure(measured[at]?.ttftMs ?? measured[at]?.atLeast?.ttftMs),
  );
  latencies.set(measured, bound);
  return bound;
}

const scores = new WeakMap<readonly ScoredRoute[], Least>();

function scoreBound(model: Model, measurements: Measurements): Least {
  const scoredRoutes = scoredRoutesOf(model, measurements);
  const found = scores.get(scoredRoutes);
  if (found !== undefined) return found;
  const bound = leastOf(scoredRoutes, ({ score }) => score);
  scores.set(scoredRoutes, bound);
  return bound;
}

const slice = 25;

/**
 * Computes what planning caches for a catalog and new measurements, before a request needs it. Unchanged values are
 * kept. It yields every 25 models, so that the caller can serve requests in between. Without it, the first request for
 * a model computes that model, and the first for `/auto` computes most models.
 */
export function* prepareRouting(catalog: Catalog, measurements: Measurements): Generator<void> {
  let done = 0;
  for (const model of catalog.models.values()) {
    latencyBound(model, measurements);
    scoreBound(model, measurements);
    done += 1;
    if (done % slice === 0) yield;
  }
}
