import { availableNusd } from '@sotto/money';
import { closedMs } from '../bounds.ts';
import type { Signed } from '../envelopes/sealing.ts';
import type { BookedCharges, ReserveReply, ReserveRequest, SettleRequest, StreamPlace } from '../ports/index.ts';
import type { SettlementEntry } from '../records.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { isClosed } from './shard-admission.ts';
import { setSpent } from './shard-budgets.ts';
import type { ShardData } from './shard-data.ts';
import { dropNote, placeNote, projectedWallet, releaseHold, setFunds, setLimit } from './shard-funds.ts';
import { correctTokens } from './shard-rates.ts';
import { keyOrEmpty, rest } from './shard-records.ts';

/** Charges on their way to the ledger: notes until they are booked, and the stream that control reads. */

/** Appends a settlement to the stream. Returns its id there. */
export function append(shard: ShardData, { payload, mac }: Signed): string {
  shard.sequence += 1;
  const streamId = `${shard.sequence}-0`;
  shard.stream.push({ streamId, payload, mac });
  return streamId;
}

export function settle(
  shard: ShardData,
  { holdId, chargeNusd, usedTokens, entry }: SettleRequest,
  now: number,
  change: () => void,
): StreamPlace | undefined {
  const ended = releaseHold(shard, holdId, now);
  if (ended !== undefined) {
    placeNote(shard, holdId, { ...ended, amountNusd: chargeNusd }, now);
    correctTokens(shard, ended, usedTokens);
  } else {
    const reaped = shard.reaped.get(holdId);
    shard.reaped.delete(holdId);
    if (reaped !== undefined && reaped.until > now) {
      placeNote(shard, holdId, { ...reaped, amountNusd: chargeNusd }, now);
    }
  }
  if (!isClosed(shard, holdId, now)) shard.closed.set(holdId, now + closedMs);
  change();
  if (entry === undefined || shard.epoch === undefined) return undefined;
  return { streamId: append(shard, entry), epoch: shard.epoch };
}

export function settlementsAfter({ stream }: ShardData, afterId: string, limit: number): SettlementEntry[] {
  const after = Number.parseInt(afterId, 10);
  return stream.filter((entry) => Number.parseInt(entry.streamId, 10) > after).slice(0, limit);
}

export function acknowledge(shard: ShardData, streamId: string, change: () => void): void {
  const passed = Number.parseInt(streamId, 10);
  if (passed <= Number.parseInt(shard.watermark, 10)) return;
  shard.watermark = streamId;
  shard.stream = shard.stream.filter((entry) => Number.parseInt(entry.streamId, 10) > passed);
  change();
}

export function book(shard: ShardData, { wallet, keys, budgets, holdIds }: BookedCharges, now: number): void {
  for (const holdId of holdIds) dropNote(shard, holdId, now);
  setFunds(shard, wallet);
  for (const { keyHash, limitFundsNusd, version } of keys) {
    if (setLimit(keyOrEmpty(shard, keyHash), limitFundsNusd, version)) rest(shard, keyHash, now);
  }
  for (const { budgetId, ...spend } of budgets) setSpent(shard, budgetId, spend, now);
}

/** Sets money aside that leaves a wallet without a request. */
export function reserve(
  shard: ShardData,
  { noteId, walletId, amountNusd, balanceNusd, alone }: ReserveRequest,
  now: number,
  change: () => void,
): ReserveReply {
  const wallet = projectedWallet(shard, walletId);
  if (wallet === undefined) throw new StateUnavailableError('not projected');
  if (alone && wallet.heldNusd + wallet.unbookedNusd > 0n) return { result: 'busy' };
  const fundsNusd = wallet.fundsNusd < balanceNusd ? wallet.fundsNusd : balanceNusd;
  if (availableNusd({ ...wallet, fundsNusd }) < amountNusd) return { result: 'insufficient' };
  change();
  placeNote(shard, noteId, { walletId, keyHash: '-', amountNusd, month: '-', budgetIds: [] }, now);
  return { result: 'reserved', epoch: shard.epoch ?? 0 };
}
