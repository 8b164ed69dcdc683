/** What the last 24 hours say about a route, as far as ordering needs it. */
export interface RouteMeasurement {
  readonly requests: number;
  readonly successes: number;
  /** Median time to first token in ms; undefined where nothing was measured. */
  readonly ttftMs: number | undefined;
  /** Median output tokens per second; undefined where nothing was measured. */
  readonly tokensPerSecond: number | undefined;
}

/** Measurements by route id. */
export type Measurements = ReadonlyMap<string, RouteMeasurement>;

/** With fewer recent requests than this, a measurement says nothing (interface part 8). */
export const measurementMinimum = 20;

/** A route's measurement where it has enough requests to be believed. */
export function reliable(measurements: Measurements, routeId: string): RouteMeasurement | undefined {
  const found = measurements.get(routeId);
  return found !== undefined && found.requests >= measurementMinimum ? found : undefined;
}
