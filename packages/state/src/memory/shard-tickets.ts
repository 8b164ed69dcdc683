import { availableNusd } from '@sotto/money';
import type { RefusalKind } from '@sotto/wire';
import { monthOf } from '../budgets.ts';
import type { MintReply, MintRequest } from '../ports/index.ts';
import { refusingBudget } from './shard-budgets.ts';
import type { Mark, ShardData } from './shard-data.ts';
import { projectedWallet } from './shard-funds.ts';
import { hasGeneration, opens } from './shard-keys.ts';
import { countRefusal } from './shard-refusals.ts';

/** The marks of tickets: minted by control, used once by a broker. */

export function markOf({ tickets }: ShardData, ticketHash: string, now: number): Mark | undefined {
  const mark = tickets.get(ticketHash);
  return mark !== undefined && mark.expiresAt > now ? mark : undefined;
}

/** Returns the mark of a ticket that can be redeemed in this epoch. */
export function validMark(shard: ShardData, ticketHash: string, now: number): Mark | undefined {
  const mark = markOf(shard, ticketHash, now);
  return mark?.usedBy === undefined && mark?.epoch === shard.epoch ? mark : undefined;
}

export function mint(shard: ShardData, request: MintRequest, now: number, change: () => void): MintReply {
  const { ticketHashes, walletId, keyHash, secretHash, generation, ttlMs, free = false } = request;
  const { keys, tickets, epoch = 0 } = shard;
  const wallet = projectedWallet(shard, walletId);
  if (wallet === undefined) return { result: 'not_projected' };
  const projection = keys.get(keyHash)?.projection;
  if (projection === undefined || !opens(projection, secretHash, now)) return { result: 'not_projected' };
  if (!hasGeneration(shard, projection, generation)) return { result: 'not_projected' };
  const count = (kind: RefusalKind): void => {
    // The caller of a remembered key reads the key again and repeats the mint.
    if (secretHash === undefined) countRefusal(shard, keyHash, kind, now);
  };
  const available = availableNusd(wallet);
  if (available <= 0n && !free) {
    count('balance');
    return { result: 'insufficient', availableNusd: available };
  }
  const asked = { month: monthOf(now), amountNusd: 1n, budgetIds: projection.budgetIds };
  const refusing = free ? undefined : refusingBudget(shard, asked);
  if (refusing !== undefined) {
    const { leftNusd: _, ...budget } = refusing;
    count(`${budget.scope}_budget`);
    return { result: 'over_budget', budget };
  }
  change();
  const expiresAt = now + ttlMs;
  for (const ticketHash of ticketHashes) {
    if (markOf(shard, ticketHash, now) !== undefined) continue;
    tickets.set(ticketHash, { epoch, keyHash, generation, expiresAt, usedBy: undefined });
  }
  return { result: 'minted' };
}
