import { strengthOf } from './route-facts.ts';
import type { Standing } from './standing.ts';

/**
 * How many times as dear, or as slow, a more private route may be and still go first (interface 3.4, part 8):
 * `tee` over `private`, and anything over `anonymous`.
 */
const overPrivate = { cost: 1.5, slowness: 2 } as const;
const overAnonymous = { cost: 3, slowness: 3 } as const;

/** Where the tier rules put a route, in this order. `e2ee` counts as `tee`: the two never meet in one plan. */
export const places = {
  anonymousFirst: 0,
  enclave: 1,
  private: 2,
  /** Passed over for a private route: too dear, too slow, or failing. */
  enclavePassedOver: 3,
  anonymousLast: 4,
} as const;
export type Place = (typeof places)[keyof typeof places];

const privateStrength = strengthOf('private');

/**
 * Judges each of a model's eligible routes by the tier rules of the sort Default (interface 3.4, rule 2). An enclave is
 * compared with the private route that would serve in its stead: the best-scoring one that does not keep failing.
 * An anonymous route goes first only where every more private one is too dear, too slow or failing beside it. A route
 * that keeps failing itself never takes the place of a more private one.
 */
export function placesOf(routes: readonly Standing[]): (route: Standing) => Place {
  const morePrivate = routes.filter(({ strength }) => strength >= privateStrength);
  let rival: Standing | undefined;
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

/** Slowness is what was measured of both: privacy does not give way to a guess. */
function givesWay(
  stronger: Standing,
  weaker: Standing,
  most: { readonly cost: number; readonly slowness: number },
): boolean {
  if (stronger.isFailing || stronger.cost > weaker.cost * most.cost) return true;
  const exceeds = (slower: number | undefined, faster: number | undefined): boolean =>
    slower !== undefined && faster !== undefined && slower > faster * most.slowness;
  return exceeds(stronger.ttftMs, weaker.ttftMs) || exceeds(weaker.tokensPerSecond, stronger.tokensPerSecond);
}

/**
 * When a route's turn comes, the lowest first. A penalized one goes behind the healthy routes of its own tier and of
 * stronger ones, never behind a weaker tier (interface 3.2).
 */
const turns = {
  [places.anonymousFirst]: { healthy: 0, penalized: 6 },
  [places.enclave]: { healthy: 1, penalized: 2 },
  [places.private]: { healthy: 3, penalized: 4 },
  [places.enclavePassedOver]: { healthy: 3, penalized: 4 },
  [places.anonymousLast]: { healthy: 5, penalized: 6 },
} as const;

export const turnOf = (place: Place, isPenalized: boolean): number =>
  turns[place][isPenalized ? 'penalized' : 'healthy'];

/** Routes of one place that score within ten per cent of the best share traffic (interface 3.4, rule 4). */
export const bandWidth = 1.1;
