import type { Model } from '../catalog/catalog.ts';
import type { Measurements } from '../health/measurement.ts';
import { type AutoStrategy, figureOf, latencyFigure } from './auto-strategy.ts';
import { bestScore } from './default-score.ts';
import type { Demands } from './demands.ts';
import { modelFacts, type RouteFacts, strengthOf } from './route-facts.ts';
import { measuredOf, type Standing, standingsOf } from './standing.ts';

/**
 * Whether no lead of a model can be as good as this one: told from the best figure among all its routes, without a look
 * at which of them the request may use. Never true of a model that could win or draw.
 */
export function isDominated(
  model: Model,
  by: Standing,
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

/** Whether every plaintext route of a model costs more than the request may: told without a look at its routes. */
export function isTooDear(model: Model, { encrypted, floor, maxInput, maxOutput }: Demands): boolean {
  if (encrypted) return false;
  const bounds = boundsOf(model);
  return from(bounds.input, floor) > maxInput || from(bounds.output, floor) > maxOutput;
}

/** The least figure among the routes of each strength or more that take plaintext, by strength. */
type Least = readonly number[];

const from = (least: Least, strength: number): number => least[strength] ?? Number.POSITIVE_INFINITY;

const e2ee = strengthOf('e2ee');

function leastOf(routes: readonly RouteFacts[], figure: (route: RouteFacts, at: number) => number): Least {
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
  /** The strongest class that takes plaintext; negative where there is none. */
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

/** The least time to first token: from the measurements alone, so that most models are passed over for it. */
export function latencyBound(model: Model, measurements: Measurements): Least {
  const measured = measuredOf(model, measurements);
  const found = latencies.get(measured);
  if (found !== undefined) return found;
  const bound = leastOf(modelFacts(model), (_, at) =>
    latencyFigure(measured[at]?.ttftMs ?? measured[at]?.atLeast?.ttftMs),
  );
  latencies.set(measured, bound);
  return bound;
}

const scores = new WeakMap<readonly Standing[], Least>();

export function scoreBound(model: Model, measurements: Measurements): Least {
  const standings = standingsOf(model, measurements);
  const found = scores.get(standings);
  if (found !== undefined) return found;
  const bound = leastOf(standings, (_, at) => standings[at]?.score ?? 0);
  scores.set(standings, bound);
  return bound;
}
