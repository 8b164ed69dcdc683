import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Needs } from './needs.ts';
import { offerBits, strengthOf } from './route-facts.ts';

/** All that one request demands of routes: policy and needs, and what they come to where every route is held to them. */
export interface Demands {
  readonly policy: MergedPolicy;
  readonly needs: Needs;
  readonly boundary: number;
  readonly floor: number;
  /** The offers that a route must have, as `offerBits`. */
  readonly offers: number;
}

export const demandsOf = (policy: MergedPolicy, needs: Needs): Demands => ({
  policy,
  needs,
  boundary: strengthOf(policy.boundary),
  floor: strengthOf(policy.floor),
  offers: offerBits(needs),
});
