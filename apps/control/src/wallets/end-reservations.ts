import { forEachReachable, shards } from '@sotto/state';
import { inTransaction } from '../database/in-transaction.ts';
import { lockAccount } from '../ledger/post-transaction.ts';
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
        const { rows } = await client.query<{ id: string }>('select id from accounts where wallet_id = $1', [walletId]);
        // Postgres may be older than the state, if it was restored from a backup.
        const account = rows[0] && (await lockAccount(client, rows[0].id));
        if (account !== undefined) await state.book(booked(account, noteId));
      });
    }
  });
  if (failure !== undefined) throw failure;
}
