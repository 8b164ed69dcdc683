import type { Model } from '../catalog/catalog.ts';
import { isSameMeasurement, type Measurements, type RouteMeasurement, reliable } from '../health/measurement.ts';
import { averageOf, defaultScore, failingBelow, type Performance, successRateOf } from './default-score.ts';
import { modelFacts, type RouteFacts } from './route-facts.ts';

/** A route as it stands among the others of its model: what never changes of it, and what the last 24 hours say. */
export interface Standing extends RouteFacts {
  /** Median time to first token; undefined where too little is measured. */
  readonly ttftMs: number | undefined;
  /** Median output tokens per second; undefined where too little is measured. */
  readonly tokensPerSecond: number | undefined;
  /** The same two, or where no streams were measured what whole answers bound: only sorts by speed go by a bound. */
  readonly ttftAtMostMs: number | undefined;
  readonly tokensPerSecondAtLeast: number | undefined;
  /** Whether it keeps failing. */
  readonly isFailing: boolean;
  /** `defaultScore`: what is not measured counts as average. */
  readonly score: number;
}

type Measured = readonly (RouteMeasurement | undefined)[];

/** The newest measurements of each model, by number: the maps that they came in are not kept alive. */
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
 * What is measured of a model's routes, in the model's order; undefined for a route of which it is too little. The very
 * same array again as long as it says the same, however often measurements come anew. Neither model nor measurements
 * may change after the call.
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

const known = new WeakMap<Measured, readonly Standing[]>();

/** How the routes of a model stand, in the model's order; the very same array again for the same measurements. */
export function standingsOf(model: Model, measurements: Measurements): readonly Standing[] {
  const measured = measuredOf(model, measurements);
  const found = known.get(measured);
  if (found !== undefined) return found;
  const average = averageOf(measured);
  const standings = modelFacts(model).map((facts, at) => standingOf(facts, measured[at], average));
  known.set(measured, standings);
  return standings;
}

function standingOf(facts: RouteFacts, measured: RouteMeasurement | undefined, average: Performance): Standing {
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
