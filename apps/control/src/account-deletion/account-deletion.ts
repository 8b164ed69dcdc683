import { repeat } from '@sotto/server';
import { type EpochPort, type ProjectionPort, shardOfWallet } from '@sotto/state';
import type pg from 'pg';
import type { ClaimStep } from '../accounts/ensure-account.ts';
import { byAccount, recordAct } from '../acts/record-act.ts';
import { expireWithin } from '../billing/monthly-grants/expire-grants.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { Domain } from '../domain.ts';
import { debitWithin, ledgerAccounts, lockAccount } from '../ledger/post-transaction.ts';

/** Why an account cannot be deleted now, or the ids of its revoked keys, for the projector. */
export type Deletion = { readonly obstacle: string } | { readonly keyIds: readonly string[] };

/**
 * Deletes a user and all that names them, in one transaction: ways to sign in, sessions, address, keys, workspaces, apps
 * and memberships. The account stays without a user, because the ledger, receipts and usage refer to it. Requests that
 * are under way are charged to it. `closeAccount` books its rest later.
 */
export async function deleteAccount(pool: pg.Pool, userId: string, steps: readonly ClaimStep[]): Promise<Deletion> {
  return inTransaction(pool, async (client): Promise<Deletion> => {
    // Bookings and orders lock the account first, too. A row that refers to the account may be inserted meanwhile.
    const locked = await client.query<{ id: string }>('select id from accounts where user_id = $1 for no key update', [
      userId,
    ]);
    const [account] = locked.rows;
    if (account === undefined) throw new Error('the user has no account');
    // A query of its own: one that waits for the lock does not see the order that was placed meanwhile.
    const { rows } = await client.query<{ is_operator: boolean; is_paying: boolean }>(
      `select exists (select from operators where user_id = $1) as is_operator,
         exists (select from orders where account_id = $2 and status in ('created', 'pending')) as is_paying`,
      [userId, account.id],
    );
    const obstacle = rows[0]?.is_operator
      ? 'You administer this deployment. Have the operator role revoked first'
      : rows[0]?.is_paying
        ? 'A payment is under way. Wait until it is paid or has expired'
        : await findShared(client, account.id);
    if (obstacle !== undefined) return { obstacle };

    const keyIds: string[] = [];
    for (const step of steps) keyIds.push(...(await step(client, userId)));
    // Names are what the user wrote. Ids stay, because usage refers to them.
    await client.query(
      "update workspaces set deleted_at = coalesce(deleted_at, now()), name = 'Deleted workspace' where account_id = $1",
      [account.id],
    );
    await client.query(
      'delete from workspace_webhooks where workspace_id in (select id from workspaces where account_id = $1)',
      [account.id],
    );
    await client.query(
      // Lock the keys in the order in which bookings update them, so that the two cannot deadlock.
      `with named as (select id from api_keys where account_id = $1 or created_by = $1 order by id for update)
       update api_keys set name = 'Deleted key' from named where api_keys.id = named.id`,
      [account.id],
    );
    for (const table of ['billing_settings', 'rail_customers'])
      await client.query(`delete from ${table} where account_id = $1`, [account.id]);
    await client.query(
      "update accounts set name = 'Deleted account', deleted_at = now(), disabled_at = coalesce(disabled_at, now()) where id = $1",
      [account.id],
    );
    await recordAct(client, { actor: byAccount(account.id), act: 'account_deleted', accountId: account.id });
    // Takes sessions, passkeys and the second factor with it, and clears `accounts.user_id`.
    await client.query('delete from auth_user where id = $1', [userId]);
    return { keyIds };
  });
}

/**
 * Returns a sentence about a workspace of the account that other users still need. Locks the workspaces, so that no
 * invitation is accepted after the look.
 */
async function findShared(client: pg.PoolClient, accountId: string): Promise<string | undefined> {
  await client.query('select 1 from workspaces where account_id = $1 order by id for update', [accountId]);
  const { rows } = await client.query<{ name: string }>(
    `select name from workspaces w where account_id = $1 and deleted_at is null
       and exists (select from workspace_members m where m.workspace_id = w.id) order by created_at limit 1`,
    [accountId],
  );
  return rows[0] && `Your workspace “${rows[0].name}” has other members. Transfer it or remove them first`;
}

export interface ClosingDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'readWallet'> & Pick<EpochPort, 'isOpen'>;
  /** Writes an account's balance to the state. */
  readonly project: (accountId: string) => Promise<void>;
}

/**
 * Books the rest of a deleted account, once none of its requests can still be charged. Every broker then knows that its keys
 * are revoked, and the state has no hold and no unbooked charge of it. Monthly grants expire, and the rest is forfeited. Money
 * that arrives later stays in the wallet, for the operator to refund. Returns whether the account is closed.
 */
async function closeAccount({ pool, state }: ClosingDependencies, accountId: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const account = await lockAccount(client, accountId);
    const { rows } = await client.query<{ is_due: boolean }>(
      `select deleted_at is not null and closed_at is null and not exists (
         select from api_keys where (account_id = a.id or created_by = a.id) and projected_generation < generation
       ) as is_due from accounts a where id = $1`,
      [accountId],
    );
    if (account === undefined || rows[0]?.is_due !== true) return false;
    // Read after the lock: no charge is booked from here on, so each is in the balance or unbooked in the state, or both.
    const wallet = await state.readWallet(shardOfWallet(account.walletId), account.walletId);
    if (wallet === undefined || wallet.heldNusd > 0n || wallet.unbookedNusd > 0n) return false;
    const expiredNusd = await expireWithin(client, accountId, {
      ...{ account, isPast: () => true },
      spareOf: () => account.balanceNusd,
    });
    const amountNusd = account.balanceNusd - expiredNusd;
    const reference = `account_deleted:${accountId}`;
    const rest = { accountId, amountNusd, kind: 'adjustment', reference, to: ledgerAccounts.forfeited } as const;
    if (amountNusd > 0n) await debitWithin(client, rest);
    await client.query('update accounts set closed_at = now() where id = $1', [accountId]);
    return true;
  });
}

const closeMs = 5_000;
const batch = 50;

/** Closes deleted accounts. Every control process runs this: the accounts' locks keep them apart. */
export function buildAccountDeletion(deps: ClosingDependencies): Domain {
  const closeDue = async (): Promise<void> => {
    // A shard that is being rebuilt does not know all holds.
    if (!(await deps.state.isOpen())) return;
    const { rows } = await deps.pool.query<{ id: string }>(
      `select id from accounts where deleted_at is not null and closed_at is null order by random() limit ${batch}`,
    );
    for (const { id } of rows) if (await closeAccount(deps, id)) await deps.project(id);
  };
  return { tasks: (failed) => [repeat(closeMs, closeDue, failed('closing of deleted accounts'))] };
}
