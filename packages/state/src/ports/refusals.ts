import type { RefusalKind } from '@sotto/wire';
import type { RightToCheck } from './rights.ts';

/** A request that was refused before a redeem. */
export interface RefusedRequest extends RightToCheck {
  readonly kind: RefusalKind;
}

/**
 * How often a key's requests were refused in an hour of an epoch. It only rises. The sum over the epochs may lack refusals that a
 * shard lost, and never has one twice.
 */
export interface RefusalCount {
  /** Since 1970, by Redis' clock. */
  readonly hour: number;
  readonly epoch: number;
  readonly keyHash: string;
  readonly kind: RefusalKind;
  readonly count: number;
}

export interface RefusalCounts {
  /** The present hour. */
  readonly hour: number;
  readonly counts: readonly RefusalCount[];
}
