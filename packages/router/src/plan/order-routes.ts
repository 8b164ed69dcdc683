import { comparablePrice } from '@sotto/money';
import { comparePrivacy } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import { type Measurements, reliable } from '../health/measurement.ts';
import type { Sort } from '../policy/merge-policy.ts';

type Comparison = (a: Route, b: Route) => number;

/** What is known of routes at the moment of planning. */
export interface RouteStatus {
  readonly measurements: Measurements;
  readonly penalized: (route: Route) => boolean;
}

const byPrivacy: Comparison = (a, b) => comparePrivacy(b.privacyClass, a.privacyClass);
const byPrice: Comparison = (a, b) => comparablePrice(a.price) - comparablePrice(b.price);
const byRegistry: Comparison = (a, b) => a.rank - b.rank || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Measured routes first, best first; where too little is known, whatever the next comparison says. */
function byMeasure(measurements: Measurements, merit: 'ttftMs' | 'tokensPerSecond'): Comparison {
  const score = (route: Route): number => {
    const value = reliable(measurements, route.id)?.[merit];
    if (value === undefined) return Number.POSITIVE_INFINITY;
    return merit === 'ttftMs' ? value : -value;
  };
  return (a, b) => {
    const [left, right] = [score(a), score(b)];
    return left === right ? 0 : left < right ? -1 : 1;
  };
}

const chain =
  (...comparisons: readonly Comparison[]): Comparison =>
  (a, b) => {
    for (const compare of comparisons) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };

/**
 * The order a sort gives to routes (interface 3.4): total, because registry order and id break every tie.
 * Under `privacy` a penalized route stays within its tier; under the others it goes behind every healthy one.
 */
export function comparisonOf(sort: Sort, status: RouteStatus): Comparison {
  const byHealth: Comparison = (a, b) => Number(status.penalized(a)) - Number(status.penalized(b));
  const byLatency = byMeasure(status.measurements, 'ttftMs');
  const fixed = chain(byPrice, byLatency, byRegistry);
  switch (sort) {
    case 'default':
    case 'privacy':
      return chain(byPrivacy, byHealth, fixed);
    case 'price':
      return chain(byHealth, fixed);
    case 'latency':
      return chain(byHealth, byLatency, fixed);
    case 'throughput':
      return chain(byHealth, byMeasure(status.measurements, 'tokensPerSecond'), fixed);
    default:
      return sort satisfies never;
  }
}

/**
 * Places the routes named by an explicit `order` first, as it is written, and the rest by comparison.
 * An entry that names several routes (variants, `other`) places them by comparison among themselves.
 */
export function orderRoutes(routes: readonly Route[], order: readonly string[], compare: Comparison): Route[] {
  const position = (route: Route): number => {
    const index = order.findIndex((entry) => matchesProvider(entry, route.publicProviderId));
    return index === -1 ? order.length : index;
  };
  return [...routes].sort((a, b) => position(a) - position(b) || compare(a, b));
}
