import type { RestoredDeclaration, ShardMembers } from '../ports/index.ts';
import { isClosed } from './shard-admission.ts';
import type { ShardData } from './shard-data.ts';
import { dropNote, placeHold, placeNote, releaseHold } from './shard-funds.ts';
import { renewLease } from './shard-members.ts';
import { append } from './shard-settlements.ts';

/** Begins an epoch of a shard, and restores what running processes declare that they hold. */

export function membersOf({ epoch, isOpen, members, declared }: ShardData): ShardMembers {
  const named = (isGone: boolean): string[] =>
    [...members].filter(([, { lapsedAt }]) => (lapsedAt !== undefined) === isGone).map(([client]) => client);
  return {
    epoch,
    isOpen,
    clients: named(false),
    gone: named(true),
    declared: [...declared.values()],
  };
}

export function beginEpoch(shard: ShardData, epoch: number, now: number): boolean {
  if (shard.epoch !== undefined) return false;
  for (const holdId of [...shard.holds.keys()]) releaseHold(shard, holdId, now);
  for (const holdId of [...shard.notes.keys()]) dropNote(shard, holdId, now);
  shard.members.clear();
  shard.declared.clear();
  shard.epoch = epoch;
  shard.isOpen = false;
  return true;
}

/** Returns whether the client was not admitted before. */
export function admitDeclared(
  shard: ShardData,
  client: string,
  { leaseMs, holds, charges }: RestoredDeclaration,
  now: number,
): boolean {
  shard.declared.delete(client);
  if (shard.members.has(client)) return false;
  for (const { holdId, ...declared } of holds) {
    if (isClosed(shard, holdId, now) || shard.holds.has(holdId)) continue;
    placeHold(shard, holdId, { ...declared, client, estimatedTokens: 0, window: 0, ticketHash: undefined }, now);
  }
  for (const charge of charges) {
    placeNote(shard, charge.holdId, charge, now);
    append(shard, charge.entry);
  }
  renewLease(shard, client, now + leaseMs);
  return true;
}
