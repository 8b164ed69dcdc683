import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import { rememberDeleted } from '../billing/monthly-grants/monthly-grants.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';

/** Why an account cannot be deleted now, or the account that is deleted. */
export type Deletion = { readonly obstacle: string } | { readonly accountId: string };

/**
 * Deletes a user and everything that one could use the account by, in one transaction: ways to sign in, sessions, address,
 * workspaces, apps and memberships. From its commit control accepts no session and no key of the account, and its wallet holds
 * nothing for brokers (`spendableNusd`). `endAccount` then revokes its keys step by step, because there may be many.
 *
 * `month` is the present one. The account's identities are remembered for it, so that a new account of theirs gets no second grant.
 *
 * The account stays without a user, because the ledger, receipts and usage refer to it. Requests that are under way are charged to it.
 */
export async function deleteAccount(pool: pg.Pool, userId: string, month: string): Promise<Deletion> {
  return inTransaction(pool, async (client): Promise<Deletion> => {
    // Bookings and orders lock the account first, too. A row that refers to the account may be inserted meanwhile.
    const locked = await client.query<{ id: string }>('select id from accounts where user_id = $1 for no key update', [
      userId,
    ]);
    const [account] = locked.rows;
    if (account === undefined) throw new Error('the user has no account');
    const of = [account.id];
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

    await rememberDeleted(client, account.id, month);
    await leaveWorkspaces(client, account.id);
    // Names are what the user wrote. Ids stay, because usage refers to them.
    await client.query(
      "update workspaces set deleted_at = coalesce(deleted_at, now()), name = 'Deleted workspace' where account_id = $1",
      of,
    );
    await removeBudgets(client, {
      where: 'b.workspace_id in (select id from workspaces where account_id = $1)',
      values: of,
    });
    for (const table of ['workspace_webhooks', 'workspace_invitations'])
      await client.query(
        `delete from ${table} where workspace_id in (select id from workspaces where account_id = $1)`,
        of,
      );
    await client.query('update connect_apps set disabled_at = now() where account_id = $1 and disabled_at is null', of);
    for (const table of ['billing_settings', 'rail_customers'])
      await client.query(`delete from ${table} where account_id = $1`, of);
    await client.query(
      `update accounts set name = 'Deleted account', deleted_at = now(), disabled_at = coalesce(disabled_at, now()),
         version = version + 1 where id = $1`,
      of,
    );
    await recordAct(client, { actor: byAccount(account.id), act: 'account_deleted', accountId: account.id });
    // Takes sessions, passkeys and the second factor with it, and clears `accounts.user_id`.
    await client.query('delete from auth_user where id = $1', [userId]);
    return { accountId: account.id };
  });
}

/**
 * Returns a sentence about a workspace of the account that other users still need. Locks the workspaces, so that no
 * invitation is accepted and no key created after the look.
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

/** Ends the memberships in workspaces of others. Locks these, so that no key is created there after `endAccount` has looked. */
async function leaveWorkspaces(client: pg.PoolClient, accountId: string): Promise<void> {
  await client.query(
    `select 1 from workspaces where id in (select workspace_id from workspace_members where account_id = $1)
     order by id for update`,
    [accountId],
  );
  await client.query('delete from workspace_invitations where invited_by = $1', [accountId]);
  await client.query('delete from workspace_members where account_id = $1', [accountId]);
}
