import type { Signed } from '../envelopes/sealing.ts';
import type { JoinReply, MembershipPort } from '../ports/index.ts';
import { shards as allShards } from '../shard.ts';

/** Time in ms from the renewal of a lease to its end. Leases are renewed every second. */
export const leaseMs = 15_000;
/** Time in ms until a lapsed lease is reaped. After a pause of Redis, all processes renew late. */
export const leaseGraceMs = 5_000;

export interface LeaseKeeperDependencies {
  readonly state: MembershipPort;
  /** The declaration of this process's present incarnation in a shard. Undefined: nothing to declare. */
  readonly declare: (shard: number) => Signed | undefined;
  /** The shards to join. Default: all. Simulations use fewer. */
  readonly shards?: readonly number[];
}

/** Keeps a process in every shard: joins each epoch with a declaration of its holds, and renews the leases. */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDependencies;
  readonly #shards: readonly number[];
  readonly #renewing = new Set<number>();
  #isOpen = false;

  constructor(deps: LeaseKeeperDependencies) {
    this.#deps = deps;
    this.#shards = deps.shards ?? allShards;
    // A step that was refused for its lease or epoch triggers a renewal at once.
    deps.state.membership.onRefused = (shard) => {
      if (!this.#renewing.has(shard)) void this.#renewShard(shard);
    };
  }

  /** Whether every shard was open and included this process at the last renewal. */
  get isSettled(): boolean {
    return this.#isOpen && this.#shards.every((shard) => this.#deps.state.membership.isJoined(shard));
  }

  /** Joins or renews in every shard. Called every second, and more often until all succeed. */
  async renew(): Promise<void> {
    const open = await Promise.all(this.#shards.map((shard) => this.#renewShard(shard)));
    this.#isOpen = open.every(Boolean);
  }

  /** Leaves every shard on exit. Releases the remaining holds, and rebuilds no longer wait for this process. */
  async leave(): Promise<void> {
    const { state } = this.#deps;
    const joined = this.#shards.filter((shard) => state.membership.isJoined(shard));
    await Promise.all(joined.map((shard) => state.leave(shard).catch(() => {})));
  }

  async #renewShard(shard: number): Promise<boolean> {
    const { state, declare } = this.#deps;
    this.#renewing.add(shard);
    try {
      const reply = await joinShard(state, shard, declare);
      return reply.isOpen && reply.result === 'joined';
    } catch {
      return false;
    } finally {
      this.#renewing.delete(shard);
    }
  }
}

/**
 * Joins a shard or renews the lease in it. Repeats once if the shard reports a new epoch, a lapsed lease, or that the caller has
 * not joined. Only a caller that has not joined sends a declaration.
 */
export async function joinShard(
  state: MembershipPort,
  shard: number,
  declare: (shard: number) => Signed | undefined,
): Promise<JoinReply> {
  const caller = state.membership.caller(shard);
  const wasIn = state.membership.isJoined(shard);
  const join = () =>
    state.join(shard, { declaration: state.membership.isJoined(shard) ? 'renewal' : declare(shard), leaseMs });
  try {
    return await join();
  } catch (error) {
    if (state.membership.isCurrent(shard, caller) && state.membership.isJoined(shard) === wasIn) throw error;
    return join();
  }
}
