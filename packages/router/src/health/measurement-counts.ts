import type { Measurements, RouteMeasurement } from './measurement.ts';

/**
 * Measurements as counts, so that brokers can add them up: per route the attempts that say something about it, how many
 * succeeded, and two histograms on a logarithmic scale. No account, no content, a bounded number of fields a route.
 */
export type Counts = ReadonlyMap<string, number>;

export interface MeasuredAttempt {
  readonly routeId: string;
  readonly success: boolean;
  /** From the start of the attempt to its first output. */
  readonly ttftMs?: number | undefined;
  readonly tokensPerSecond?: number | undefined;
}

/** Ten per cent wide steps: fine enough to order routes, few enough to keep (about 160 up to an hour in ms). */
const base = 1.1;
const bucketOf = (value: number): number =>
  Math.max(0, Math.min(170, Math.round(Math.log(Math.max(value, 1)) / Math.log(base))));
const bucketValue = (bucket: number): number => base ** bucket;

/** Adds one attempt to counts that are still to be shared. */
export function countAttempt(counts: Map<string, number>, attempt: MeasuredAttempt): void {
  const add = (field: string): void => {
    const name = `${attempt.routeId}|${field}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  add('r');
  if (attempt.success) add('s');
  if (attempt.ttftMs !== undefined) add(`t${bucketOf(attempt.ttftMs)}`);
  if (attempt.tokensPerSecond !== undefined) add(`v${bucketOf(attempt.tokensPerSecond)}`);
}

/** What counts say of one route; percentiles are undefined where nothing was measured. */
export interface RouteStatistics {
  readonly requests: number;
  readonly successes: number;
  ttftMs(percentile: number): number | undefined;
  tokensPerSecond(percentile: number): number | undefined;
}

interface Accumulated {
  requests: number;
  successes: number;
  readonly ttft: Map<number, number>;
  readonly speed: Map<number, number>;
}

/** Adds up the counts of several hours, by route id. */
export function summarize(hours: readonly Counts[]): ReadonlyMap<string, RouteStatistics> {
  const routes = new Map<string, Accumulated>();
  for (const counts of hours) {
    for (const [name, count] of counts) {
      const bar = name.lastIndexOf('|');
      const routeId = name.slice(0, bar);
      const field = name.slice(bar + 1);
      const route = routes.get(routeId) ?? { requests: 0, successes: 0, ttft: new Map(), speed: new Map() };
      routes.set(routeId, route);
      if (field === 'r') route.requests += count;
      else if (field === 's') route.successes += count;
      else {
        const histogram = field.startsWith('t') ? route.ttft : route.speed;
        const bucket = Number(field.slice(1));
        histogram.set(bucket, (histogram.get(bucket) ?? 0) + count);
      }
    }
  }
  return new Map(
    [...routes].map(([routeId, { requests, successes, ttft, speed }]) => [
      routeId,
      {
        requests,
        successes,
        ttftMs: (percentile) => percentileOf(ttft, percentile),
        tokensPerSecond: (percentile) => percentileOf(speed, percentile),
      },
    ]),
  );
}

/** What ordering needs of the last hours. */
export function measurementsOf(hours: readonly Counts[]): Measurements {
  const measurements = new Map<string, RouteMeasurement>();
  for (const [routeId, route] of summarize(hours)) {
    measurements.set(routeId, {
      requests: route.requests,
      successes: route.successes,
      ttftMs: route.ttftMs(50),
      tokensPerSecond: route.tokensPerSecond(50),
    });
  }
  return measurements;
}

function percentileOf(histogram: ReadonlyMap<number, number>, percentile: number): number | undefined {
  const buckets = [...histogram].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= (total * percentile) / 100) return Math.round(bucketValue(bucket) * 10) / 10;
  }
  return undefined;
}
