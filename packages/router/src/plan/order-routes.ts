import type { Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { Measurements } from '../health/measurement.ts';
import type { MergedPolicy, Sort } from '../policy/merge-policy.ts';
import { bandWidth, type Place, places, placesOf, turnOf } from './default-tiers.ts';
import type { Standing } from './standing.ts';

/** What is known of routes at the moment of planning. */
export interface RouteStatus {
  readonly measurements: Measurements;
  readonly penalized: (route: Route) => boolean;
}

/** A route with all that its order goes by. */
export interface Arranged {
  readonly standing: Standing;
  /** Of the entry of an explicit `order` that names it; the number of entries where none does. */
  readonly position: number;
  /** What the tier rules of the sort Default say; the same for every route under other sorts. */
  readonly place: Place;
  readonly isPenalized: boolean;
}

type Comparison = (a: Arranged, b: Arranged) => number;

/** Smaller first; what is not measured comes after all that is. */
const ascending = (a: number | undefined, b: number | undefined): number =>
  a === b ? 0 : a === undefined ? 1 : b === undefined ? -1 : a - b;

const byHealth: Comparison = (a, b) => Number(a.isPenalized) - Number(b.isPenalized);
const byLatency: Comparison = (a, b) => ascending(a.standing.ttftAtMostMs, b.standing.ttftAtMostMs);

/** Price, then latency, then the order of the registry, then the id: no two routes are equal. */
const fixed: Comparison = (a, b) => {
  const { route: left } = a.standing;
  const { route: right } = b.standing;
  const known = a.standing.price - b.standing.price || byLatency(a, b) || left.rank - right.rank;
  return known || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);
};

/**
 * The order that each sort gives to routes (interface 3.4): total, because registry order and id break every tie.
 * Under `privacy` a penalized route stays within its tier; under `price`, `latency` and `throughput` it goes behind every
 * healthy one.
 */
const comparisons: Readonly<Record<Sort, Comparison>> = {
  default: (a, b) =>
    turnOf(a.place, a.isPenalized) - turnOf(b.place, b.isPenalized) ||
    a.place - b.place ||
    a.standing.score - b.standing.score ||
    fixed(a, b),
  privacy: (a, b) => b.standing.strength - a.standing.strength || byHealth(a, b) || fixed(a, b),
  price: (a, b) => byHealth(a, b) || fixed(a, b),
  latency: (a, b) => byHealth(a, b) || byLatency(a, b) || fixed(a, b),
  throughput: (a, b) =>
    byHealth(a, b) ||
    ascending(negative(a.standing.tokensPerSecondAtLeast), negative(b.standing.tokensPerSecondAtLeast)) ||
    fixed(a, b),
};
const negative = (value: number | undefined): number | undefined => (value === undefined ? undefined : -value);

/** The order of routes under a policy: those that an explicit `order` names first, as it is written, the rest by sort. */
export const comparisonOf = ({ sort, order }: Pick<MergedPolicy, 'sort' | 'order'>): Comparison => {
  const bySort = comparisons[sort];
  return order.length === 0 ? bySort : (a, b) => a.position - b.position || bySort(a, b);
};

/** What each route's order goes by on a day when all are healthy; in the order given. */
export function arrange(
  standings: readonly Standing[],
  { sort, order }: Pick<MergedPolicy, 'sort' | 'order'>,
): Arranged[] {
  const placeOf = sort === 'default' ? placesOf(standings) : () => places.anonymousFirst;
  return standings.map((standing) => ({
    standing,
    position: positionIn(order, standing.route),
    place: placeOf(standing),
    isPenalized: false,
  }));
}

function positionIn(order: readonly string[], { publicProviderId }: Route): number {
  if (order.length === 0) return 0;
  const index = order.findIndex((entry) => matchesProvider(entry, publicProviderId));
  return index === -1 ? order.length : index;
}

/**
 * Puts recently failed routes where their penalty moves them. Where every route is penalized the order is that of a
 * healthy day (interface 3.2).
 */
export function withPenalties(
  inOrder: readonly Arranged[],
  policy: Pick<MergedPolicy, 'sort' | 'order'>,
  penalized: RouteStatus['penalized'],
): readonly Arranged[] {
  let count = 0;
  const judged = inOrder.map((each) => {
    if (!penalized(each.standing.route)) return each;
    count += 1;
    return { ...each, isPenalized: true };
  });
  return count === 0 || count === inOrder.length ? inOrder : judged.sort(comparisonOf(policy));
}

/**
 * How many routes at the head of an order share traffic: under the sort Default those of the first one's place that
 * score within ten per cent of it (interface 3.4, rule 4). Under every other sort the first alone.
 */
export function sharing(inOrder: readonly Arranged[], { sort }: Pick<MergedPolicy, 'sort'>): number {
  const [first] = inOrder;
  if (first === undefined || sort !== 'default') return Math.min(inOrder.length, 1);
  const end = inOrder.findIndex(
    ({ place, isPenalized, standing }) =>
      place !== first.place || isPenalized !== first.isPenalized || standing.score > first.standing.score * bandWidth,
  );
  return end === -1 ? inOrder.length : end;
}
