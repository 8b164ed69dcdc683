import type { JoinReply, MembershipPort, SealedDeclaration } from '../ports.ts';
import { shards as allShards } from '../shard.ts';

/** A lease runs this long after it was renewed; it is renewed every second. */
export const leaseMs = 15_000;
/** A lapsed lease is reaped only after this: everyone is late where Redis stood still. */
export const leaseGraceMs = 5_000;

export interface LeaseKeeperDependencies {
  readonly state: MembershipPort;
  /** What this process holds in a shard under its present incarnation; undefined: nothing. */
  readonly declare: (shard: number) => SealedDeclaration | undefined;
  /** The shards to be in; all, but for simulations. */
  readonly shards?: readonly number[];
}

/** Keeps a process in every shard: joins each epoch, declaring what it holds, and renews the leases. */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDependencies;
  readonly #shards: readonly number[];
  readonly #renewing = new Set<number>();
  #isOpen = false;

  constructor(deps: LeaseKeeperDependencies) {
    this.#deps = deps;
    this.#shards = deps.shards ?? allShards;
    // Who is refused a step for its lease or its epoch need not wait for the next second.
    deps.state.membership.onRefused = (shard) => {
      if (!this.#renewing.has(shard)) void this.#renewShard(shard);
    };
  }

  /** Whether at the last look every shard was open and this process in it. */
  get isSettled(): boolean {
    return this.#isOpen && this.#shards.every((shard) => this.#deps.state.membership.isJoined(shard));
  }

  /** Joins or renews in every shard. Called every second, and more often while it is not settled. */
  async renew(): Promise<void> {
    const open = await Promise.all(this.#shards.map((shard) => this.#renewShard(shard)));
    this.#isOpen = open.every(Boolean);
  }

  /** Leaves every shard, at the very end: what is still held there is released, and nobody waits for this process. */
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
 * Joins a shard or renews the lease in it: once more where the shard told of a new epoch, of a lapsed lease, or that the
 * caller is not in. Only who is not in declares what it holds.
 */
export async function joinShard(
  state: MembershipPort,
  shard: number,
  declare: (shard: number) => SealedDeclaration | undefined,
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
