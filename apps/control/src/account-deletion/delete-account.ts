import type pg from 'pg';
import { type Actor, byAccount, recordActs } from '../audit-log/record-act.ts';
import { rememberDeleted } from '../billing/monthly-grants/monthly-grants.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';

/** Why an account cannot be deleted now. */
export interface DeletionObstacle {
  /** The user is an operator, a payment is under way, other people use a workspace of the account, or it was deleted just now. */
  readonly kind: 'operator' | 'paying' | 'shared' | 'deleted';
  /** The workspace that others use. */
  readonly workspaceId?: string;
  readonly workspaceName?: string;
}

/** Why an account cannot be deleted now, or the account that is deleted. */
export type Deletion = { readonly obstacle: DeletionObstacle } | { readonly accountId: string };

export interface DeletionRequest {
  /** The present one. The account's identities are remembered for it, so that a new account of theirs gets no second grant. */
  readonly month: string;
  /** Undefined: the user. `withWorkspaces`: workspaces that others use are no obstacle, and are deleted for them, too. */
  readonly by?: { readonly actor: Actor; readonly withWorkspaces: boolean };
}

/**
 * Deletes a user and everything that one could use the account by, in one transaction: ways to sign in, sessions, address,
 * workspaces, apps and memberships. From its commit control accepts no session and no key of the account, and its wallet holds
 * nothing for brokers (`spendableNusd`). `endAccount` then revokes its keys step by step, because there may be many.
 *
 * The account stays without a user, because the ledger, receipts and usage refer to it. Requests that are under way are charged to it.
 */
export async function deleteAccount(pool: pg.Pool, userId: string, { month, by }: DeletionRequest): Promise<Deletion> {
  return inTransaction(pool, async (client): Promise<Deletion> => {
    // SCIM locks its user before workspaces, and a change of a workspace locks it before accounts.
    await client.query(
      'select from scim_users where account_id = (select id from accounts where user_id = $1) for update',
      [userId],
    );
    // Who accepts an invitation locks its workspace, too, and then the account. Anybody can sign up with the address of another, so only
    // one that was verified, or that the operator named, takes its invitations along.
    const { rows: invitations } = await client.query<{ id: string; workspace_id: string }>(
      `select i.id, i.workspace_id from workspace_invitations i join auth_user u on u.email = i.email
       where u.id = $1 and (u.email_verified or $2)`,
      [userId, by !== undefined],
    );
    await client.query(
      `select 1 from workspaces where account_id = (select id from accounts where user_id = $1) or id in (
         select m.workspace_id from workspace_members m join accounts a on a.id = m.account_id where a.user_id = $1)
         or id = any($2::uuid[])
       order by id for update`,
      [userId, invitations.map(({ workspace_id }) => workspace_id)],
    );
    // A withdrawal locks the permission before the account, too.
    await client.query(
      'select from credit_codes where account_id = (select id from accounts where user_id = $1) for update',
      [userId],
    );
    // Bookings and orders lock the account, too. A row that refers to the account may be inserted meanwhile.
    const locked = await client.query<{ id: string }>('select id from accounts where user_id = $1 for no key update', [
      userId,
    ]);
    const [account] = locked.rows;
    if (account === undefined) return { obstacle: { kind: 'deleted' } };
    const of = [account.id];
    // Whoever disables an app locks it before the budgets of its keys.
    await client.query('select from connect_apps where account_id = $1 order by id for update', of);
    // A query of its own: one that waits for the lock does not see the order that was placed meanwhile.
    const { rows } = await client.query<{ is_operator: boolean; is_paying: boolean }>(
      `select exists (select from operators where user_id = $1) as is_operator,
         exists (select from orders where account_id = $2 and status in ('created', 'pending')) as is_paying`,
      [userId, account.id],
    );
    const shared = await findShared(client, account.id);
    const obstacle: DeletionObstacle | undefined = rows[0]?.is_operator
      ? { kind: 'operator' }
      : rows[0]?.is_paying
        ? { kind: 'paying' }
        : by?.withWorkspaces === true
          ? undefined
          : shared;
    if (obstacle !== undefined) return { obstacle };

    await rememberDeleted(client, account.id, month);
    const left = await leaveWorkspaces(client, account.id);
    const { rows: owned } = await client.query<{ id: string }>(
      'select id from workspaces where account_id = $1 and deleted_at is null',
      of,
    );
    // Names and tags are what the user wrote. Ids stay, because usage refers to them.
    await client.query(
      "update workspaces set deleted_at = coalesce(deleted_at, now()), name = 'Deleted workspace' where account_id = $1",
      of,
    );
    await removeBudgets(client, {
      where: 'b.workspace_id in (select id from workspaces where account_id = $1)',
      values: of,
    });
    await client.query(
      'update budgets set tag = null where tag is not null and workspace_id in (select id from workspaces where account_id = $1)',
      of,
    );
    for (const table of ['workspace_webhooks', 'workspace_invitations', 'workspace_members'])
      await client.query(
        `delete from ${table} where workspace_id in (select id from workspaces where account_id = $1)`,
        of,
      );
    await client.query('delete from workspace_invitations where id = any($1::uuid[])', [
      invitations.map(({ id }) => id),
    ]);
    await client.query(
      `delete from sign_up_invitations i using auth_user u where u.id = $1 and u.email = i.email and (u.email_verified or $2)`,
      [userId, by !== undefined],
    );
    await client.query(
      `update connect_apps set name = 'Deleted app', homepage = '', redirect_uris = '[]', post_logout_redirect_uris = '[]',
         disabled_at = coalesce(disabled_at, now()) where account_id = $1`,
      of,
    );
    // The provider's record holds names and addresses, too. Its id and subject stay, so that the provider can still say that the person
    // leaves, which may then have another account.
    await client.query(
      `update scim_users s set account_id = null, user_name = s.id::text, attributes = '{}', updated_at = now(), addresses = array(
         select 'openid:' || w.account_id from auth_account w where w.user_id = $2 and w.provider_id = 'openid')
       where s.account_id = $1`,
      [account.id, userId],
    );
    // A permission to withdraw credits counts as money.
    for (const table of ['billing_settings', 'rail_customers', 'credit_codes'])
      await client.query(`delete from ${table} where account_id = $1`, of);
    await client.query(
      `update accounts set name = 'Deleted account', deleted_at = now(), disabled_at = coalesce(disabled_at, now()),
         openid_groups = null, version = version + 1 where id = $1`,
      of,
    );
    const concerning = { actor: by?.actor ?? byAccount(account.id), accountId: account.id };
    await recordActs(client, [
      ...left.map((workspaceId) => ({ ...concerning, act: 'member_removed', workspaceId }) as const),
      ...owned.map(({ id: workspaceId }) => ({ ...concerning, act: 'workspace_deleted', workspaceId }) as const),
      { ...concerning, act: 'account_deleted' },
    ]);
    // Takes sessions, passkeys and the second factor with it, and clears `accounts.user_id`.
    await client.query('delete from auth_user where id = $1', [userId]);
    return { accountId: account.id };
  });
}

/**
 * Returns a workspace of the account that other users still need. Locks the workspaces, so that no invitation is accepted and no
 * key created after the look.
 */
async function findShared(client: pg.PoolClient, accountId: string): Promise<DeletionObstacle | undefined> {
  await client.query('select 1 from workspaces where account_id = $1 order by id for update', [accountId]);
  const { rows } = await client.query<{ id: string; name: string }>(
    `select id, name from workspaces w where account_id = $1 and deleted_at is null
       and exists (select from workspace_members m where m.workspace_id = w.id) order by created_at limit 1`,
    [accountId],
  );
  return rows[0] && { kind: 'shared', workspaceId: rows[0].id, workspaceName: rows[0].name };
}

/**
 * Ends the memberships in workspaces of others, and returns these. Locks them, so that no key is created there after `endAccount` has
 * looked.
 */
async function leaveWorkspaces(client: pg.PoolClient, accountId: string): Promise<readonly string[]> {
  await client.query(
    `select 1 from workspaces where id in (select workspace_id from workspace_members where account_id = $1)
     order by id for update`,
    [accountId],
  );
  await removeBudgets(client, {
    where: `b.workspace_id in (select workspace_id from workspace_members where account_id = $1)
      and b.member_id = $1 and b.is_default`,
    values: [accountId],
  });
  await client.query('delete from workspace_invitations where invited_by = $1', [accountId]);
  const { rows } = await client.query<{ workspace_id: string }>(
    'delete from workspace_members where account_id = $1 returning workspace_id',
    [accountId],
  );
  return rows.map(({ workspace_id: workspaceId }) => workspaceId);
}
