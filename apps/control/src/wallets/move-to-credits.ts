import { randomBytes } from 'node:crypto';
import { shardOfWallet } from '@sotto/state';
import { creditNusd } from '@sotto/wire';
import type pg from 'pg';
import { type Refused, refused } from '../database/refused.ts';
import { type CreditedBalance, lockAccount, takeCreditsWithin } from '../ledger/post-transaction.ts';
import { unlessUnavailable } from '../projection/project-keys.ts';
import { type Batch, batchId, type CreditsDependencies, type Unavailable } from './batch.ts';

interface Locked {
  readonly account: CreditedBalance;
  /** The recorded epoch of the account's shard. */
  readonly epoch: number;
}

/** Locks the epoch of an account's shard, which many may share, then the account. */
export async function lockWithEpoch(client: pg.PoolClient, accountId: string): Promise<Locked | Refused<Unavailable>> {
  // A rebuild of the shard waits for these locks.
  await client.query("set local statement_timeout = '5s'");
  await client.query("set local idle_in_transaction_session_timeout = '5s'");
  const found = await client.query<{ wallet_id: string }>('select wallet_id from accounts where id = $1', [accountId]);
  const shard = shardOfWallet(found.rows[0]?.wallet_id ?? '');
  const { rows } = await client.query<{ epoch: string }>('select epoch from shard_epochs where shard = $1 for share', [
    shard,
  ]);
  const account = await lockAccount(client, accountId);
  if (account === undefined || rows[0] === undefined) return refused('unavailable');
  return { account, epoch: Number(rows[0].epoch) };
}

export async function isEnabled(db: pg.Pool | pg.PoolClient, accountId: string): Promise<boolean> {
  const { rowCount } = await db.query('select from accounts where id = $1 and disabled_at is null', [accountId]);
  return rowCount === 1;
}

/** Why money cannot move: requests of the wallet are not booked yet, or running ones hold a part of the balance. */
export type NotMoved = Unavailable | { readonly why: 'unbooked' } | { readonly why: 'held' };

interface Moved {
  readonly after: CreditedBalance;
  readonly noteId: string;
}

/** Moves money from a locked account to the credits of a key, and stores how many of the batch's numbers are signed. */
export async function moveToCredits(
  { state, now }: CreditsDependencies,
  client: pg.PoolClient,
  batch: Batch,
  taken: Locked & {
    readonly accountId: string;
    /** The sum that leaves the account, for `count` credits. The difference is rounded. */
    readonly nusd: bigint;
    readonly count: number;
    readonly alone: boolean;
  },
): Promise<Moved | Refused<NotMoved>> {
  const { account, accountId, nusd, count, alone } = taken;
  const { walletId, balanceNusd } = account;
  const noteId = `reservation:${walletId}:${now()}:${randomBytes(12).toString('hex')}`;
  const shard = shardOfWallet(walletId);
  const reserved = await state.reserve({ shard, noteId, walletId, amountNusd: nusd, balanceNusd, alone });
  if (reserved.result === 'busy') return refused('unbooked');
  if (reserved.result === 'insufficient') return refused('held');
  if (reserved.epoch !== taken.epoch) return refused('unavailable');
  const creditsNusd = creditNusd * BigInt(count);
  const { keyId } = batch;
  const reference = `credits:${batchId(batch)}`;
  const after =
    nusd === 0n
      ? account
      : await takeCreditsWithin(client, account, {
          accountId,
          reference,
          keyId,
          creditsNusd,
          roundedNusd: nusd - creditsNusd,
        });
  await client.query(
    'insert into credit_issuances (id, account_id, key_id, count, created_at) values ($1, $2, $3, $4, $5)',
    [batchId(batch), accountId, keyId, count, new Date(now())],
  );
  await client.query(
    `insert into credit_keys (key_id, issued) values ($1, $2)
     on conflict (key_id) do update set issued = credit_keys.issued + excluded.issued`,
    [keyId, count],
  );
  return { after, noteId };
}

/** Writes the new balance and ends the reservation, in one step. If the state is unavailable, `endReservations` does it. */
export async function tellState({ state }: CreditsDependencies, { after, noteId }: Moved): Promise<void> {
  await state.book(booked(after, noteId)).catch(unlessUnavailable);
}

/** What the state is told of a reservation that has ended: the account's balance. */
export const booked = ({ walletId, balanceNusd, version }: CreditedBalance, noteId: string) => ({
  wallet: { shard: shardOfWallet(walletId), walletId, balanceNusd, version },
  ...{ keys: [], budgets: [], holdIds: [noteId] },
});
