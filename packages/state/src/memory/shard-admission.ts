import { availableNusd, hold, type Nusd, type Spendable } from '@sotto/money';
import type { RefusalKind } from '@sotto/wire';
import { closedMs } from '../bounds.ts';
import { monthOf } from '../budgets.ts';
import { shownGeneration } from '../generation.ts';
import type { RateStatus, RedeemReply, RedeemRequest, RefusedRequest, Right, RightToCheck } from '../ports/index.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { refusingBudget } from './shard-budgets.ts';
import type { ShardData, StoredKey } from './shard-data.ts';
import { placeHold, projectedWallet, releaseHold } from './shard-funds.ts';
import { generationOfKey, isValidTicket, opens, versionedKey } from './shard-keys.ts';
import { countRequest, rateStatus, usedRate } from './shard-rates.ts';
import { countRefusal } from './shard-refusals.ts';
import { markOf, validMark } from './shard-tickets.ts';

/** Admits requests: a right is used and its hold placed, both or neither. */

/** Whether a hold was cancelled or settled, so that a late redeem of it must not place it. */
export const isClosed = ({ closed }: ShardData, holdId: string, now: number): boolean =>
  (closed.get(holdId) ?? 0) > now;

export function peek(shard: ShardData, { right }: RightToCheck, now: number): RateStatus | undefined {
  const mark = right.kind === 'ticket' ? validMark(shard, right.ticketHash, now) : undefined;
  const keyHash = right.kind === 'ticket' ? mark?.keyHash : right.keyHash;
  const projection = keyHash === undefined ? undefined : shard.keys.get(keyHash)?.projection;
  if (keyHash === undefined || projection === undefined) return undefined;
  if (!opens(projection, secretOf(right), now)) return undefined;
  const current = generationOfKey(shard, projection);
  if (current === undefined) return undefined;
  // A changed key needs a new plan. A ticket belongs to the old generation of its key.
  const isStale = mark !== undefined && !isValidTicket(shard, projection, mark.generation);
  return isStale ? undefined : rateStatus(shard, keyHash, now);
}

/** The redeeming process, and the time. */
interface Redeemer {
  readonly client: string;
  readonly now: number;
  readonly change: () => void;
}

export function redeem(shard: ShardData, request: RedeemRequest, { client, now, change }: Redeemer): RedeemReply {
  const { holds, keys, tickets } = shard;
  const { right, holdId, amountNusd } = request;
  if (isClosed(shard, holdId, now)) return { result: 'closed' };
  const repeated = holds.get(holdId);
  if (repeated !== undefined) {
    const { month, keyHash } = repeated;
    const rate = rateStatus(shard, keyHash, now);
    return { result: 'admitted', month, rate, ...heldOf(request, repeated.amountNusd) };
  }

  const mark = right.kind === 'ticket' ? validMark(shard, right.ticketHash, now) : undefined;
  if (right.kind === 'ticket' && mark === undefined) return { result: 'invalid_ticket' };
  const keyHash = mark?.keyHash ?? (right.kind === 'key' ? right.keyHash : '');
  const key = keys.get(keyHash);
  const projection = key?.projection;
  const refused: RedeemReply = { result: right.kind === 'ticket' ? 'invalid_ticket' : 'unknown_key' };
  if (key === undefined || projection === undefined || !opens(projection, secretOf(right), now)) return refused;
  const current = generationOfKey(shard, projection);
  if (current === undefined) return refused;
  if (mark !== undefined) {
    if (!isValidTicket(shard, projection, mark.generation)) return refused;
  } else if (shownGeneration(projection.walletId, keyHash, current) !== request.generation) {
    const newer = versionedKey(shard, projection, request.shard);
    return newer === undefined ? refused : { result: 'stale_key', key: newer };
  }

  const used = usedRate(shard, keyHash, now);
  const rate = rateStatus(shard, keyHash, now);
  const refuse = (kind: RefusalKind, reply: RedeemReply): RedeemReply => {
    countRefusal(shard, keyHash, kind, now);
    return reply;
  };
  if (used.requests + 1 > projection.limitRequests)
    return refuse('requests', { result: 'rate_limited', by: 'requests', rate });
  if (used.tokens > 0 && used.tokens + request.estimatedTokens > projection.limitTokens)
    return refuse('tokens', { result: 'rate_limited', by: 'tokens', rate });
  const wallet = projectedWallet(shard, projection.walletId);
  if (wallet === undefined) throw new StateUnavailableError('not projected');
  const isFree = request.free === true;
  if (!isFree && hold(wallet, amountNusd) === undefined)
    return refuse('balance', { result: 'insufficient', scope: 'wallet', rate });
  if (!isFree && key.limited && availableNusd(key.spend) < amountNusd)
    return refuse('key_limit', {
      ...{ result: 'insufficient', scope: 'key', rate },
      ...(right.kind === 'key' ? { leftNusd: availableNusd(key.spend) } : {}),
    });
  const month = monthOf(now);
  const { budgetIds } = projection;
  const refusing = isFree ? undefined : refusingBudget(shard, { month, amountNusd, budgetIds });
  if (refusing !== undefined) {
    // A ticket hides whose it is. A limit in USD could tell, so only the key itself is answered with it.
    const { leftNusd, ...told } = refusing;
    const budget =
      right.kind === 'ticket'
        ? { ...told, limitNusd: undefined }
        : { ...told, ...(told.scope === 'key' ? { leftNusd } : {}) };
    return refuse(`${refusing.scope}_budget`, { result: 'insufficient', scope: 'budget', budget, rate });
  }

  const heldNusd = isFree ? amountNusd : roundedHold(request, wallet, key);
  change();
  if (mark !== undefined && right.kind === 'ticket') tickets.set(right.ticketHash, { ...mark, usedBy: holdId });
  const held = {
    client,
    walletId: projection.walletId,
    keyHash,
    amountNusd: heldNusd,
    estimatedTokens: request.estimatedTokens,
    window: used.window,
    ticketHash: right.kind === 'ticket' ? right.ticketHash : undefined,
    month,
    budgetIds,
  };
  placeHold(shard, holdId, held, now);
  countRequest(shard, keyHash, request.estimatedTokens, now);
  return { result: 'admitted', month, rate: rateStatus(shard, keyHash, now), ...heldOf(request, heldNusd) };
}

/** A rounded hold takes no more than is available. */
function roundedHold({ amountNusd, roundedNusd = amountNusd }: RedeemRequest, wallet: Spendable, key: StoredKey): Nusd {
  const most = [roundedNusd, availableNusd(wallet), ...(key.limited ? [availableNusd(key.spend)] : [])];
  return most.reduce((least, nusd) => (nusd < least ? nusd : least));
}

const heldOf = ({ roundedNusd }: RedeemRequest, heldNusd: Nusd): { readonly heldNusd?: Nusd } =>
  roundedNusd === undefined ? {} : { heldNusd };

/** Counts a request that was refused before a redeem. */
export function countRefused(shard: ShardData, { right, kind }: RefusedRequest, now: number): void {
  const keyHash = right.kind === 'key' ? right.keyHash : validMark(shard, right.ticketHash, now)?.keyHash;
  if (shard.isOpen && keyHash !== undefined) countRefusal(shard, keyHash, kind, now);
}

export function cancel(shard: ShardData, holdId: string, now: number, change: () => void): void {
  const { tickets, closed } = shard;
  if (isClosed(shard, holdId, now)) return;
  const ticketHash = releaseHold(shard, holdId, now)?.ticketHash;
  const mark = ticketHash === undefined ? undefined : markOf(shard, ticketHash, now);
  if (ticketHash !== undefined && mark?.usedBy === holdId) tickets.set(ticketHash, { ...mark, usedBy: undefined });
  closed.set(holdId, now + closedMs);
  change();
}

const secretOf = (right: Right): string | undefined =>
  right.kind === 'key' ? (right.secretHash ?? right.keyHash) : undefined;
