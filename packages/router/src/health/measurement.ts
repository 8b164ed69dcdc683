import type { RouteTally } from './route-tally.ts';

/** The measurements of a route in the last 24 hours that ordering uses. */
export interface RouteMeasurement {
  readonly requests: number;
  readonly successes: number;
  /** Median time to first token in ms. Undefined if it was not measured. */
  readonly ttftMs: number | undefined;
  /** Median output tokens per second. Undefined if it was not measured. */
  readonly tokensPerSecond: number | undefined;
  /**
   * Medians of chats that were not streamed. The first token came no later than the answer, and the tokens came no
   * slower. So a route is at least this good. These bounds must not count against a route whose streams were measured.
   */
  readonly atLeast?: { readonly ttftMs: number | undefined; readonly tokensPerSecond: number | undefined };
}

/** Measurements by route id. If nothing changed, the map and each measurement in it stay the same objects. */
export type Measurements = ReadonlyMap<string, RouteMeasurement>;

/** The fewest recent requests for which a measurement counts (docs/reference/measurements.md). */
export const measurementMinimum = 20;

/** A route's measurement, if it has enough requests to be reliable. */
export function reliable(measurements: Measurements, routeId: string): RouteMeasurement | undefined {
  const found = measurements.get(routeId);
  return found !== undefined && found.requests >= measurementMinimum ? found : undefined;
}

/** Assumed if a route's speed was not measured: the least speed of a large model. */
const assumedTokensPerSecond = 50;

/** Output tokens per second that a route is likely to produce. */
export function expectedTokensPerSecond(measurements: Measurements, routeId: string): number {
  const measured = reliable(measurements, routeId);
  return measured?.tokensPerSecond ?? measured?.atLeast?.tokensPerSecond ?? assumedTokensPerSecond;
}

/** Extracts the measurements that ordering uses from a tally. */
export function measurementOf(tally: RouteTally): RouteMeasurement {
  const atLeast = {
    ttftMs: tally.percentile('wholeMs', 50),
    tokensPerSecond: tally.percentile('wholeTokensPerSecond', 50),
  };
  return {
    requests: tally.requests,
    successes: tally.successes,
    ttftMs: tally.percentile('ttftMs', 50),
    tokensPerSecond: tally.percentile('tokensPerSecond', 50),
    ...(atLeast.ttftMs === undefined && atLeast.tokensPerSecond === undefined ? {} : { atLeast }),
  };
}

/** Whether two measurements of a route are equal. */
export const isSameMeasurement = (a: RouteMeasurement, b: RouteMeasurement): boolean =>
  a.requests === b.requests &&
  a.successes === b.successes &&
  a.ttftMs === b.ttftMs &&
  a.tokensPerSecond === b.tokensPerSecond &&
  a.atLeast?.ttftMs === b.atLeast?.ttftMs &&
  a.atLeast?.tokensPerSecond === b.atLeast?.tokensPerSecond;
