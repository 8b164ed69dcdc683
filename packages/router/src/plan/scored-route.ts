import type { Model } from '../catalog/catalog.ts';
import { isSameMeasurement, type Measurements, type RouteMeasurement, reliable } from '../health/measurement.ts';
import { modelFacts, type RouteFacts } from './route-facts.ts';

/** Speed and success of a route, as the score uses them. */
interface Performance {
  /** Median time to first token. */
  readonly ttftMs: number;
  /** Median output tokens per second. */
  readonly tokensPerSecond: number;
  /** From 0 to 1. */
  readonly successRate: number;
}

/** Used for a model without measured routes, so that only prices differ. */
const neutral: Performance = { ttftMs: 1000, tokensPerSecond: 50, successRate: 1 };

/** A route with a lower success rate in 24 hours counts as failing. */
const failingBelow = 0.8;

const successRateOf = ({ requests, successes }: RouteMeasurement): number => successes / requests;

/** The mean of the model's measured routes. It stands for a route with fewer than 20 recent requests. */
function averageOf(measured: readonly (RouteMeasurement | undefined)[]): Performance {
  const mean = (value: (of: RouteMeasurement) => number | undefined, otherwise: number): number => {
    let sum = 0;
    let count = 0;
    for (const each of measured) {
      const known = each === undefined ? undefined : value(each);
      if (known === undefined) continue;
      sum += known;
      count += 1;
    }
    return count === 0 ? otherwise : sum / count;
  };
  return {
    ttftMs: mean(({ ttftMs }) => ttftMs, neutral.ttftMs),
    tokensPerSecond: mean(({ tokensPerSecond }) => tokensPerSecond, neutral.tokensPerSecond),
    successRate: mean(successRateOf, neutral.successRate),
  };
}

/**
 * Limits how much speed and success can change a score. A value outside is a measuring error or makes no noticeable
 * difference.
 */
const bounds = { ttftMs: 10, leastTokensPerSecond: 1, mostTokensPerSecond: 10_000, successRate: 0.05 } as const;

/**
 * The score of a route within its tier under the sort Default; the lowest is the best (docs/concepts/routing.md):
 * expected cost × (time to first token / 1 s)^0.1 × (50 / tokens per second)^0.1 ÷ success rate³.
 * Price dominates. A route that is ten times slower costs a quarter more. Each failed request counts about three times
 * its share.
 */
function defaultScore(cost: number, { ttftMs, tokensPerSecond, successRate }: Performance): number {
  const seconds = Math.max(ttftMs, bounds.ttftMs) / 1000;
  const speed = Math.min(Math.max(tokensPerSecond, bounds.leastTokensPerSecond), bounds.mostTokensPerSecond);
  return (cost * ((seconds * 50) / speed) ** 0.1) / Math.max(successRate, bounds.successRate) ** 3;
}

/** The best score that a route of this expected cost can have, whatever its measurements. */
export const bestScore = (cost: number): number =>
  defaultScore(cost, { ttftMs: 0, tokensPerSecond: Number.POSITIVE_INFINITY, successRate: 1 });

/**
 * A route with its score among the routes of its model, its constant facts, and its measurements of the last 24 hours.
 */
export interface ScoredRoute extends RouteFacts {
  /** Median time to first token. Undefined if too little was measured. */
  readonly ttftMs: number | undefined;
  /** Median output tokens per second. Undefined if too little was measured. */
  readonly tokensPerSecond: number | undefined;
  /**
   * The same two figures. If no streams were measured, the bounds from whole answers. Only sorts by speed use these
   * bounds.
   */
  readonly ttftAtMostMs: number | undefined;
  readonly tokensPerSecondAtLeast: number | undefined;
  /** Whether it keeps failing. */
  readonly isFailing: boolean;
  /** `defaultScore`. An unmeasured figure counts as average. */
  readonly score: number;
}

type Measured = readonly (RouteMeasurement | undefined)[];

/** The newest measurements of each model, by number. So the maps that delivered them can be collected. */
interface Newest {
  generation: number;
  readonly measured: Measured;
}

const newest = new WeakMap<Model, Newest>();
const generations = new WeakMap<Measurements, number>();
let lastGeneration = 0;

function generationOf(measurements: Measurements): number {
  const found = generations.get(measurements);
  if (found !== undefined) return found;
  lastGeneration += 1;
  generations.set(measurements, lastGeneration);
  return lastGeneration;
}

/**
 * The measurements of a model's routes, in the model's order; undefined for a route with too few. Returns the same
 * array as long as the measurements are equal, however often they are delivered. Do not change the model or the
 * measurements after the call.
 */
export function measuredOf(model: Model, measurements: Measurements): Measured {
  const generation = generationOf(measurements);
  const last = newest.get(model);
  if (last !== undefined && (last.generation === generation || saysTheSame(model, last.measured, measurements))) {
    last.generation = generation;
    return last.measured;
  }
  const measured = model.routes.map(({ id }) => reliable(measurements, id));
  newest.set(model, { generation, measured });
  return measured;
}

function saysTheSame({ routes }: Model, before: Measured, measurements: Measurements): boolean {
  for (let at = 0; at < routes.length; at += 1) {
    const route = routes[at];
    const now = route === undefined ? undefined : reliable(measurements, route.id);
    const then = before[at];
    if (now === then) continue;
    if (now === undefined || then === undefined || !isSameMeasurement(now, then)) return false;
  }
  return true;
}

const known = new WeakMap<Measured, readonly ScoredRoute[]>();

/** The scored routes of a model, in the model's order. Returns the same array for the same measurements. */
export function scoredRoutesOf(model: Model, measurements: Measurements): readonly ScoredRoute[] {
  const measured = measuredOf(model, measurements);
  const found = known.get(measured);
  if (found !== undefined) return found;
  const average = averageOf(measured);
  const scoredRoutes = modelFacts(model).map((facts, at) => scoredRouteOf(facts, measured[at], average));
  known.set(measured, scoredRoutes);
  return scoredRoutes;
}

function scoredRouteOf(facts: RouteFacts, measured: RouteMeasurement | undefined, average: Performance): ScoredRoute {
  const successRate = measured === undefined ? undefined : successRateOf(measured);
  return {
    ...facts,
    ttftMs: measured?.ttftMs,
    tokensPerSecond: measured?.tokensPerSecond,
    ttftAtMostMs: measured?.ttftMs ?? measured?.atLeast?.ttftMs,
    tokensPerSecondAtLeast: measured?.tokensPerSecond ?? measured?.atLeast?.tokensPerSecond,
    isFailing: successRate !== undefined && successRate < failingBelow,
    score: defaultScore(facts.cost, {
      ttftMs: measured?.ttftMs ?? average.ttftMs,
      tokensPerSecond: measured?.tokensPerSecond ?? average.tokensPerSecond,
      successRate: successRate ?? average.successRate,
    }),
  };
}
