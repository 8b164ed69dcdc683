import type { Signed } from '../envelopes/sealing.ts';
import type { Membership } from '../membership/membership.ts';

export interface JoinRequest {
  /**
   * The caller's holds in this shard. Undefined: none. `renewal`: only renews the lease of a caller that has joined, because a
   * declaration may have many megabytes and leases are renewed every second.
   */
  readonly declaration: Signed | 'renewal' | undefined;
  readonly leaseMs: number;
}

export type JoinReply =
  | { readonly result: 'joined'; readonly isOpen: boolean; readonly leaseUntil: number }
  /** Control will restore the declaration. Then the caller has joined. */
  | { readonly result: 'declared'; readonly isOpen: boolean };

/**
 * A process' membership of the shards. A process joins each epoch of each shard and renews its lease. Otherwise its steps are
 * refused with `StateUnavailableError`. See docs/decisions/shared-state.md.
 */
export interface MembershipPort {
  readonly membership: Membership;
  /** Joins a shard, or renews the lease in it. */
  join(shard: number, request: JoinRequest): Promise<JoinReply>;
  /** Leaves. Releases the caller's holds, and rebuilds no longer wait for it. */
  leave(shard: number): Promise<void>;
}
