import type { Caller, Refusal } from '../membership/membership.ts';
import type { Member, ShardData } from './shard-data.ts';
import { releaseHold } from './shard-funds.ts';

/** The members of a shard by their leases, and the holds of former members. Times in ms of the shard's clock. */

/** Time in ms for which reaped holds can be charged and lapsed members are remembered. */
const rememberedMs = 86_400_000;

/** Returns why a caller may not take a step. A caller that knows of more steps than the shard ends the epoch. */
export function refusalOf(shard: ShardData, { client, epoch, acked }: Caller): Refusal | undefined {
  if (shard.epoch === undefined) return 'not_ready';
  if (epoch < shard.epoch) return 'new_epoch';
  const member = shard.members.get(client);
  if (epoch === shard.epoch && member?.lapsedAt !== undefined) return 'lapsed';
  if (epoch > shard.epoch || (member?.steps ?? 0) < acked) {
    endEpoch(shard);
    return 'rolled_back';
  }
  return undefined;
}

export function endEpoch(shard: ShardData): void {
  shard.epoch = undefined;
  shard.isOpen = false;
}

export function renewLease({ members }: ShardData, client: string, leaseUntil: number): Member {
  const member = members.get(client) ?? { steps: 0, leaseUntil, suspectAt: undefined, lapsedAt: undefined };
  member.leaseUntil = leaseUntil;
  member.suspectAt = undefined;
  members.set(client, member);
  return member;
}

/** Removes a caller that leaves. */
export function leave(shard: ShardData, client: string, now: number): void {
  const member = shard.members.get(client);
  if (member !== undefined) lapse(member, now);
  releaseAbandoned(shard, now);
}

/** Ends leases that were suspect for longer than the grace period. Returns the number of released holds. */
export function reap(shard: ShardData, graceMs: number, now: number): number {
  if (!shard.isOpen) return 0;
  let isSomeoneReaped = false;
  for (const [client, member] of shard.members) {
    if (member.lapsedAt !== undefined) {
      if (now - member.lapsedAt > rememberedMs) shard.members.delete(client);
      continue;
    }
    if (member.leaseUntil > now) continue;
    // A suspicion in the future means that the clock was set back.
    member.suspectAt = Math.min(member.suspectAt ?? now, now);
    if (now - member.suspectAt < graceMs) continue;
    lapse(member, now);
    isSomeoneReaped = true;
  }
  return isSomeoneReaped ? releaseAbandoned(shard, now) : 0;
}

function lapse(member: Member, now: number): void {
  member.lapsedAt = now;
  member.steps = 0;
}

/** Releases the holds of former members. They can still be settled. */
function releaseAbandoned(shard: ShardData, now: number): number {
  const { members, holds, reaped } = shard;
  const abandoned = [...holds].filter(([, { client }]) => {
    const member = members.get(client);
    return member === undefined || member.lapsedAt !== undefined;
  });
  for (const [holdId, { walletId, keyHash, month, budgetIds }] of abandoned) {
    releaseHold(shard, holdId, now);
    reaped.set(holdId, { walletId, keyHash, month, budgetIds, until: now + rememberedMs });
  }
  return abandoned.length;
}
