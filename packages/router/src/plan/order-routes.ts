import type { Route } from '../catalog/catalog.ts';
import { matchesProvider } from '../catalog/provider-id.ts';
import type { Measurements } from '../health/measurement.ts';
import type { MergedPolicy, Sort } from '../policy/merge-policy.ts';
import { strengthOf } from './route-facts.ts';
import type { ScoredRoute } from './scored-route.ts';

export interface RouteStatus {
  readonly measurements: Measurements;
  readonly penalized: (route: Route) => boolean;
}

export interface Arranged {
  readonly scored: ScoredRoute;
  /** Index of the entry in an explicit `order` that names it, or the number of entries if none does. */
  readonly position: number;
  /** The group by the tier rules of the sort Default. Equal for all routes under other sorts. */
  readonly place: Place;
  readonly isPenalized: boolean;
}

type Comparison = (a: Arranged, b: Arranged) => number;

/** Smaller first. Unmeasured values come last. */
const ascending = (a: number | undefined, b: number | undefined): number =>
  a === b ? 0 : a === undefined ? 1 : b === undefined ? -1 : a - b;

const byHealth: Comparison = (a, b) => Number(a.isPenalized) - Number(b.isPenalized);
const byLatency: Comparison = (a, b) => ascending(a.scored.ttftAtMostMs, b.scored.ttftAtMostMs);

/** Price, then latency, then registry order, then id: no two routes are equal. */
const fixed: Comparison = (a, b) => {
  const { route: left } = a.scored;
  const { route: right } = b.scored;
  const known = a.scored.price - b.scored.price || byLatency(a, b) || left.rank - right.rank;
  return known || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);
};

/**
 * The order of routes under each sort. It is total, because registry order and id break every tie. Under `privacy`, a
 * penalized route stays within its tier. Under `price`, `latency` and `throughput`, it goes behind every healthy one.
 */
const comparisons: Readonly<Record<Sort, Comparison>> = {
  default: (a, b) =>
    turnOf(a.place, a.isPenalized) - turnOf(b.place, b.isPenalized) ||
    a.place - b.place ||
    a.scored.score - b.scored.score ||
    fixed(a, b),
  privacy: (a, b) => b.scored.strength - a.scored.strength || byHealth(a, b) || fixed(a, b),
  price: (a, b) => byHealth(a, b) || fixed(a, b),
  latency: (a, b) => byHealth(a, b) || byLatency(a, b) || fixed(a, b),
  throughput: (a, b) =>
    byHealth(a, b) ||
    ascending(negative(a.scored.tokensPerSecondAtLeast), negative(b.scored.tokensPerSecondAtLeast)) ||
    fixed(a, b),
};
const negative = (value: number | undefined): number | undefined => (value === undefined ? undefined : -value);

/** The order of routes under a policy: first the entries of an explicit `order` as written, then the rest by sort. */
export const comparisonOf = ({ sort, order }: Pick<MergedPolicy, 'sort' | 'order'>): Comparison => {
  const bySort = comparisons[sort];
  return order.length === 0 ? bySort : (a, b) => a.position - b.position || bySort(a, b);
};

/** The routes with their order criteria as if all were healthy, in the given order. */
export function arrange(
  scoredRoutes: readonly ScoredRoute[],
  { sort, order }: Pick<MergedPolicy, 'sort' | 'order'>,
): Arranged[] {
  const placeOf = sort === 'default' ? placesOf(scoredRoutes) : () => places.anonymousFirst;
  return scoredRoutes.map((scored) => ({
    scored,
    position: positionIn(order, scored.route),
    place: placeOf(scored),
    isPenalized: false,
  }));
}

export function positionIn(order: readonly string[], { publicProviderId }: Route): number {
  if (order.length === 0) return 0;
  const index = order.findIndex((entry) => matchesProvider(entry, publicProviderId));
  return index === -1 ? order.length : index;
}

/**
 * Moves recently failed routes to where their penalty puts them. If every route is penalized, the healthy order stays.
 */
export function withPenalties(
  inOrder: readonly Arranged[],
  policy: Pick<MergedPolicy, 'sort' | 'order'>,
  penalized: RouteStatus['penalized'],
): readonly Arranged[] {
  let count = 0;
  const judged = inOrder.map((each) => {
    if (!penalized(each.scored.route)) return each;
    count += 1;
    return { ...each, isPenalized: true };
  });
  return count === 0 || count === inOrder.length ? inOrder : judged.sort(comparisonOf(policy));
}

/**
 * How many routes at the head of an order share traffic. Under the sort Default, those in the first one's group that
 * score within ten per cent of it. Under every other sort, only the first.
 */
export function sharing(inOrder: readonly Arranged[], { sort }: Pick<MergedPolicy, 'sort'>): number {
  const [first] = inOrder;
  if (first === undefined || sort !== 'default') return Math.min(inOrder.length, 1);
  const end = inOrder.findIndex(
    ({ place, isPenalized, scored }) =>
      place !== first.place || isPenalized !== first.isPenalized || scored.score > first.scored.score * bandWidth,
  );
  return end === -1 ? inOrder.length : end;
}

/**
 * Factors by which a more private route may be dearer or slower and still go first: `tee` over `private`, and any class
 * over `anonymous` (docs/concepts/routing.md).
 */
const overPrivate = { cost: 1.5, slowness: 2 } as const;
const overAnonymous = { cost: 3, slowness: 3 } as const;

/** The groups of the tier rules, in this order. `e2ee` counts as `tee`: one plan never contains both. */
const places = {
  anonymousFirst: 0,
  enclave: 1,
  private: 2,
  /** A private route goes first: the enclave is too expensive, too slow, or failing. */
  enclavePassedOver: 3,
  anonymousLast: 4,
} as const;
type Place = (typeof places)[keyof typeof places];

const privateStrength = strengthOf('private');

/**
 * Applies the tier rules of the sort Default to each of a model's eligible routes (docs/concepts/routing.md). An
 * enclave is compared with the private route that would replace it: the best-scoring one that is not failing.
 * An anonymous route goes first only if every more private route is too expensive, too slow or failing in comparison. A
 * failing route never replaces a more private one.
 */
function placesOf(routes: readonly ScoredRoute[]): (route: ScoredRoute) => Place {
  const morePrivate = routes.filter(({ strength }) => strength >= privateStrength);
  let rival: ScoredRoute | undefined;
  for (const route of morePrivate) {
    if (route.strength !== privateStrength || route.isFailing) continue;
    if (rival === undefined || route.score < rival.score) rival = route;
  }
  return (route) => {
    if (route.strength === privateStrength) return places.private;
    if (route.strength > privateStrength) {
      return rival !== undefined && givesWay(route, rival, overPrivate) ? places.enclavePassedOver : places.enclave;
    }
    const goesFirst = !route.isFailing && morePrivate.every((other) => givesWay(other, route, overAnonymous));
    return goesFirst ? places.anonymousFirst : places.anonymousLast;
  };
}

/** Compares speed only if both routes were measured: a guess must not cost privacy. */
function givesWay(
  stronger: ScoredRoute,
  weaker: ScoredRoute,
  most: { readonly cost: number; readonly slowness: number },
): boolean {
  if (stronger.isFailing || stronger.cost > weaker.cost * most.cost) return true;
  const exceeds = (slower: number | undefined, faster: number | undefined): boolean =>
    slower !== undefined && faster !== undefined && slower > faster * most.slowness;
  return exceeds(stronger.ttftMs, weaker.ttftMs) || exceeds(weaker.tokensPerSecond, stronger.tokensPerSecond);
}

/**
 * The order of routes, lowest first. A penalized route goes behind the healthy routes of its own tier and of stronger
 * tiers. It never goes behind a weaker tier.
 */
const turns = {
  [places.anonymousFirst]: { healthy: 0, penalized: 6 },
  [places.enclave]: { healthy: 1, penalized: 2 },
  [places.private]: { healthy: 3, penalized: 4 },
  [places.enclavePassedOver]: { healthy: 3, penalized: 4 },
  [places.anonymousLast]: { healthy: 5, penalized: 6 },
} as const;

const turnOf = (place: Place, isPenalized: boolean): number => turns[place][isPenalized ? 'penalized' : 'healthy'];

/** Routes in one group share traffic if they score within ten per cent of the best. */
const bandWidth = 1.1;
