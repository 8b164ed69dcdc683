import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Needs } from './needs.ts';
import { offerBits, strengthOf } from './route-facts.ts';

/** Everything that one request demands of routes. What every route is compared with is computed once, as a number. */
export interface Demands {
  readonly policy: MergedPolicy;
  readonly needs: Needs;
  /** The policy's boundary and floor, as `strengthOf`. */
  readonly boundary: number;
  readonly floor: number;
  /** The capabilities that a route must have, as `offerBits`. */
  readonly offers: number;
}

export const demandsOf = (policy: MergedPolicy, needs: Needs): Demands => ({
  policy,
  needs,
  boundary: strengthOf(policy.boundary),
  floor: strengthOf(policy.floor),
  offers: offerBits(needs),
});
