import { booked, type Nusd, type Spendable, settle, withFunds } from '@sotto/money';
import type { AuditedFunds, ShardBooks, WalletFunds, WantedBooks } from '../ports/index.ts';
import { addOpen, readBudget } from './shard-budgets.ts';
import { empty, type Hold, type Note, type ShardData, type StoredKey } from './shard-data.ts';
import { keyOrEmpty, rest } from './shard-records.ts';

/** The funds of a shard's wallets and keys. Every hold and every note of an unbooked charge counts in both, and in budgets. */

export function placeHold(shard: ShardData, holdId: string, held: Hold, now: number): void {
  shard.holds.set(holdId, held);
  const wallet = shard.wallets.get(held.walletId) ?? empty;
  shard.wallets.set(held.walletId, { ...wallet, heldNusd: wallet.heldNusd + held.amountNusd });
  const key = keyOrEmpty(shard, held.keyHash);
  key.spend = { ...key.spend, heldNusd: key.spend.heldNusd + held.amountNusd };
  rest(shard, held.keyHash, now);
  addOpen(shard, held, held.amountNusd);
}

/** Ends a hold. Returns undefined if there is none. */
export function releaseHold(shard: ShardData, holdId: string, now: number): Hold | undefined {
  const { holds, wallets, keys } = shard;
  const held = holds.get(holdId);
  if (held === undefined) return undefined;
  holds.delete(holdId);
  const wallet = wallets.get(held.walletId);
  if (wallet !== undefined) wallets.set(held.walletId, settle(wallet, held.amountNusd, 0n));
  const key = keys.get(held.keyHash);
  if (key !== undefined) key.spend = settle(key.spend, held.amountNusd, 0n);
  rest(shard, held.keyHash, now);
  addOpen(shard, held, -held.amountNusd);
  return held;
}

/** Notes an unbooked charge, once. */
export function placeNote(
  shard: ShardData,
  holdId: string,
  { walletId, keyHash, amountNusd, month, budgetIds }: Note,
  now: number,
): void {
  const { notes, wallets } = shard;
  if (amountNusd === 0n || notes.has(holdId)) return;
  notes.set(holdId, { walletId, keyHash, amountNusd, month, budgetIds });
  wallets.set(walletId, settle(wallets.get(walletId) ?? empty, 0n, amountNusd));
  const key = keyOrEmpty(shard, keyHash);
  key.spend = settle(key.spend, 0n, amountNusd);
  rest(shard, keyHash, now);
  addOpen(shard, { month, budgetIds }, amountNusd);
}

export function dropNote(shard: ShardData, holdId: string, now: number): void {
  const { notes, wallets, keys } = shard;
  const note = notes.get(holdId);
  if (note === undefined) return;
  notes.delete(holdId);
  const wallet = wallets.get(note.walletId);
  if (wallet !== undefined) wallets.set(note.walletId, booked(wallet, note.amountNusd));
  const key = keys.get(note.keyHash);
  if (key !== undefined) key.spend = booked(key.spend, note.amountNusd);
  rest(shard, note.keyHash, now);
  addOpen(shard, note, -note.amountNusd);
}

/** Sets a wallet's balance from the ledger. Returns whether it was newer. */
export function setFunds({ wallets }: ShardData, { walletId, balanceNusd, version }: WalletFunds): boolean {
  const before = wallets.get(walletId) ?? empty;
  if (version <= before.version) return false;
  wallets.set(walletId, withFunds(before, balanceNusd, version));
  return true;
}

/** Sets the remaining limit of a key from the ledger. Undefined: no limit. Returns whether it was newer. */
export function setLimit(key: StoredKey, limitFundsNusd: Nusd | undefined, version: number): boolean {
  if (version <= key.spend.version) return false;
  key.limited = limitFundsNusd !== undefined;
  key.spend = { ...key.spend, fundsNusd: limitFundsNusd ?? 0n, version };
  return true;
}

export function projectedWallet({ wallets }: ShardData, walletId: string): Spendable | undefined {
  const wallet = wallets.get(walletId);
  return wallet === undefined || wallet.version < 0 ? undefined : wallet;
}

/** Returns wallets, keys and budgets with their sums, and the same sums recomputed. Unknown ones are omitted. */
export function readBooks(shard: ShardData, { walletIds, keyHashes, budgetIds }: WantedBooks): ShardBooks {
  const { wallets, keys, holds, notes } = shard;
  const sum = (amounts: Iterable<Hold | Note>, isOf: (amount: Hold | Note) => boolean): Nusd =>
    [...amounts].filter(isOf).reduce((total, { amountNusd }) => total + amountNusd, 0n);
  const audit = (spend: Spendable | undefined, isOf: (amount: Hold | Note) => boolean): AuditedFunds | undefined =>
    spend === undefined || spend.version < 0
      ? undefined
      : { ...spend, holdsNusd: sum(holds.values(), isOf), notesNusd: sum(notes.values(), isOf) };
  return {
    wallets: byId(walletIds, (id) => audit(wallets.get(id), ({ walletId }) => walletId === id)),
    keys: byId(keyHashes, (hash) => audit(keys.get(hash)?.spend, ({ keyHash }) => keyHash === hash)),
    budgets: byId(budgetIds, (id) => readBudget(shard, id)),
  };
}

function byId<T>(ids: readonly string[], find: (id: string) => T | undefined): ReadonlyMap<string, T> {
  const known = new Map<string, T>();
  for (const id of ids) {
    const found = find(id);
    if (found !== undefined) known.set(id, found);
  }
  return known;
}
