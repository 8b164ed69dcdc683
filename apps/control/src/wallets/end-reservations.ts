import { forEachReachable, shards } from '@sotto/state';
import { inTransaction } from '../database/in-transaction.ts';
import { type WalletRow, walletQuery } from '../projection/projected-rows.ts';
import type { CreditsDependencies } from './batch.ts';
import { booked } from './move-to-credits.ts';

/** Above the time that a transaction may take, so that a reservation that is older has no transaction any more, or a stuck one. */
const reservedMs = 30_000;

/**
 * Ends reservations whose transaction is over, because control died or lost an answer. The transaction held the account's lock from before
 * it reserved, so once this has the lock, it has committed or never will, and the balance here says which.
 */
export async function endReservations({ pool, state, now }: CreditsDependencies): Promise<void> {
  const failure = await forEachReachable(shards, async (shard) => {
    for (const noteId of await state.readNotes(shard)) {
      const [, walletId, at] = /^reservation:([0-9a-f]+):(\d+):/.exec(noteId) ?? [];
      if (walletId === undefined || now() - Number(at) < reservedMs) continue;
      await inTransaction(pool, async (client) => {
        const { rows } = await client.query<WalletRow>(`${walletQuery} where wallet_id = $1 for update`, [walletId]);
        const [row] = rows;
        // Postgres may be older than the state, if it was restored from a backup. Then no account has the wallet.
        if (row === undefined) return state.forget(shard, [noteId]);
        const account = { walletId, balanceNusd: BigInt(row.balance_nusd), version: Number(row.version) };
        return state.book(booked(account, noteId));
      });
    }
  });
  if (failure !== undefined) throw failure;
}
