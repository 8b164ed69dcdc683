import type { Caller, Refusal } from '../membership/membership.ts';
import type { Member, ShardData } from './shard-data.ts';
import { releaseHold } from './shard-funds.ts';

/** Who is in a shard, by leases; and what becomes of the holds of who is not. Times in ms of the shard's clock. */

/** What was reaped can be charged, and who lapsed is known, for so long. */
const rememberedMs = 86_400_000;

/** Why a caller may take no step; one that knows of more than the shard does ends the epoch. */
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

/** Begins or renews a lease. */
export function renewLease({ members }: ShardData, client: string, leaseUntil: number): Member {
  const member = members.get(client) ?? { steps: 0, leaseUntil, suspectAt: undefined, lapsedAt: undefined };
  member.leaseUntil = leaseUntil;
  member.suspectAt = undefined;
  members.set(client, member);
  return member;
}

/** A caller goes of its own will. */
export function leave(shard: ShardData, client: string, now: number): void {
  const member = shard.members.get(client);
  if (member !== undefined) lapse(member, now);
  releaseAbandoned(shard, now);
}

/** Lapses leases that were suspect for longer than a grace; answers how many holds were released. */
export function reap(shard: ShardData, graceMs: number, now: number): number {
  if (!shard.isOpen) return 0;
  let isSomeoneReaped = false;
  for (const [client, member] of shard.members) {
    if (member.lapsedAt !== undefined) {
      if (now - member.lapsedAt > rememberedMs) shard.members.delete(client);
      continue;
    }
    if (member.leaseUntil > now) continue;
    // A suspicion of later than now is of a clock that was set back.
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

/** Releases every hold whose holder is not there any more; what they come to may still be settled. */
function releaseAbandoned(shard: ShardData, now: number): number {
  const { members, holds, reaped } = shard;
  const abandoned = [...holds].filter(([, { client }]) => {
    const member = members.get(client);
    return member === undefined || member.lapsedAt !== undefined;
  });
  for (const [holdId, { walletId, keyHash }] of abandoned) {
    releaseHold(shard, holdId);
    reaped.set(holdId, { walletId, keyHash, until: now + rememberedMs });
  }
  return abandoned.length;
}
