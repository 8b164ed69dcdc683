import type { RouteMeasurement } from '../health/measurement.ts';

/** Speed and success of a route, as the score counts them. */
export interface Performance {
  /** Median time to first token. */
  readonly ttftMs: number;
  /** Median output tokens per second. */
  readonly tokensPerSecond: number;
  /** From 0 to 1. */
  readonly successRate: number;
}

/** Counts for every route of a model of which none is measured: then only prices differ. */
const neutral: Performance = { ttftMs: 1000, tokensPerSecond: 50, successRate: 1 };

/** A route that fails more often than this in 24 hours keeps failing (interface 3.4). */
export const failingBelow = 0.8;

export const successRateOf = ({ requests, successes }: RouteMeasurement): number => successes / requests;

/** What a route with fewer than 20 recent requests counts as: the mean of the model's measured routes. */
export function averageOf(measured: readonly (RouteMeasurement | undefined)[]): Performance {
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

/** What lies beyond is a measuring error, or makes no difference to anybody; it bounds what speed can do to a score. */
const bounds = { ttftMs: 10, leastTokensPerSecond: 1, mostTokensPerSecond: 10_000, successRate: 0.05 } as const;

/**
 * How the sort Default rates a route within its tier, the lowest being the best (docs/routing.md):
 * expected cost × (time to first token / 1 s)^0.1 × (50 / tokens per second)^0.1 ÷ success rate³.
 * Price rules, tenfold slowness costs a quarter more, and each failed request counts about three times its share.
 */
export function defaultScore(cost: number, { ttftMs, tokensPerSecond, successRate }: Performance): number {
  const seconds = Math.max(ttftMs, bounds.ttftMs) / 1000;
  const speed = Math.min(Math.max(tokensPerSecond, bounds.leastTokensPerSecond), bounds.mostTokensPerSecond);
  return (cost * ((seconds * 50) / speed) ** 0.1) / Math.max(successRate, bounds.successRate) ** 3;
}

/** The best score that a route of this expected cost can have, whatever is measured of it. */
export const bestScore = (cost: number): number =>
  defaultScore(cost, { ttftMs: 0, tokensPerSecond: Number.POSITIVE_INFINITY, successRate: 1 });
