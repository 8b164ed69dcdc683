import type { RouteTally } from './route-tally.ts';

/** What the last 24 hours say about a route, as far as ordering needs it. */
export interface RouteMeasurement {
  readonly requests: number;
  readonly successes: number;
  /** Median time to first token in ms; undefined where nothing was measured. */
  readonly ttftMs: number | undefined;
  /** Median output tokens per second; undefined where nothing was measured. */
  readonly tokensPerSecond: number | undefined;
  /**
   * Medians of chats answered whole: the first token came no later than the answer, and the tokens no slower than the
   * answer took. A route is at least as good as this; it must not count against one whose streams were measured.
   */
  readonly atLeast?: { readonly ttftMs: number | undefined; readonly tokensPerSecond: number | undefined };
}

/** Measurements by route id. What has not changed keeps its identity, the whole as well as each route's. */
export type Measurements = ReadonlyMap<string, RouteMeasurement>;

/** With fewer recent requests than this, a measurement says nothing (interface part 8). */
export const measurementMinimum = 20;

/** A route's measurement where it has enough requests to be believed. */
export function reliable(measurements: Measurements, routeId: string): RouteMeasurement | undefined {
  const found = measurements.get(routeId);
  return found !== undefined && found.requests >= measurementMinimum ? found : undefined;
}

/** Assumed where a route's speed was not measured: what a large model writes at least. */
const assumedTokensPerSecond = 50;

/** Output tokens per second that a route is likely to produce. */
export function expectedTokensPerSecond(measurements: Measurements, routeId: string): number {
  const measured = reliable(measurements, routeId);
  return measured?.tokensPerSecond ?? measured?.atLeast?.tokensPerSecond ?? assumedTokensPerSecond;
}

/** What ordering needs of a tally. */
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

/** Whether two measurements of a route say the same. */
export const isSameMeasurement = (a: RouteMeasurement, b: RouteMeasurement): boolean =>
  a.requests === b.requests &&
  a.successes === b.successes &&
  a.ttftMs === b.ttftMs &&
  a.tokensPerSecond === b.tokensPerSecond &&
  a.atLeast?.ttftMs === b.atLeast?.ttftMs &&
  a.atLeast?.tokensPerSecond === b.atLeast?.tokensPerSecond;
