import type { MergedPolicy } from '../policy/merge-policy.ts';
import type { Needs } from './needs.ts';
import { offerBits, strengthOf } from './route-facts.ts';

/** Everything that one request demands of routes: its policy and needs, in the form in which each route is checked. */
export interface Demands {
  readonly policy: MergedPolicy;
  readonly needs: Needs;
  readonly boundary: number;
  readonly floor: number;
  readonly encrypted: boolean;
  readonly only: readonly string[] | undefined;
  readonly ignore: readonly string[];
  readonly allow: readonly string[] | undefined;
  /** The capabilities that a route must have, as `offerBits`. */
  readonly offers: number;
  readonly strictly: boolean;
  /** Price ceilings in pico-USD per token. */
  readonly maxInput: number;
  readonly maxOutput: number;
}

export const demandsOf = (policy: MergedPolicy, needs: Needs): Demands => ({
  policy,
  needs,
  boundary: strengthOf(policy.boundary),
  floor: strengthOf(policy.floor),
  encrypted: needs.encrypted,
  only: policy.only,
  ignore: policy.ignore,
  allow: policy.allow,
  offers: offerBits(needs),
  strictly: policy.requireParameters,
  maxInput: policy.maxPrice.input,
  maxOutput: policy.maxPrice.output,
});
