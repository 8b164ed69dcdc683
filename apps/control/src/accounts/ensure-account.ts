import { randomBytes, randomUUID } from 'node:crypto';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';
import { isUniqueViolation } from '../database/failures.ts';
import { inTransaction } from '../database/in-transaction.ts';

export interface AccountIds {
  readonly accountId: string;
  readonly walletId: string;
  readonly defaultWorkspaceId: string;
}

/**
 * Returns the account of a user, with its wallet and default workspace. Creates it if it is missing. Safe to call at
 * any time and from several processes: the database's unique indexes let only one of them create it.
 */
export async function ensureAccount(
  pool: pg.Pool,
  user: { readonly id: string; readonly name: string },
): Promise<AccountIds & { readonly created: boolean; readonly isDisabled: boolean }> {
  const found = await findAccount(pool, user.id);
  if (found !== undefined) return { ...found, created: false };
  const created = await createAccount(pool, { userId: user.id, name: user.name }).catch((error: unknown) => {
    if (isUniqueViolation(error)) return undefined;
    throw error;
  });
  if (created !== undefined) return { ...created, created: true, isDisabled: false };
  const theirs = await findAccount(pool, user.id);
  if (theirs === undefined) throw new Error('the account was neither found nor made');
  return { ...theirs, created: false };
}

/** Creates an account with its wallet and default workspace, in one transaction. */
export async function createAccount(
  pool: pg.Pool,
  { userId, name }: { readonly userId: string | undefined; readonly name: string },
): Promise<AccountIds> {
  return inTransaction(pool, (client) => insertAccount(client, { userId, name }));
}

/** Does the same in the caller's transaction. */
export async function insertAccount(
  client: pg.PoolClient,
  { userId, name, accountId = randomUUID() }: { userId: string | undefined; name: string; accountId?: string },
): Promise<AccountIds> {
  const ids = { accountId, walletId: randomBytes(16).toString('hex'), defaultWorkspaceId: randomUUID() };
  await client.query('insert into accounts (id, user_id, name, wallet_id) values ($1, $2, $3, $4)', [
    ids.accountId,
    userId ?? null,
    name,
    ids.walletId,
  ]);
  await client.query(
    "insert into workspaces (id, account_id, name, is_default, preferences) values ($1, $2, 'Default Workspace', true, $3)",
    [ids.defaultWorkspaceId, ids.accountId, JSON.stringify(initialPreferences)],
  );
  return ids;
}

/** Returns the account of a user, if it has one. */
export async function findAccount(
  pool: pg.Pool,
  userId: string,
): Promise<(AccountIds & { readonly isDisabled: boolean }) | undefined> {
  const { rows } = await pool.query<{
    id: string;
    wallet_id: string;
    workspace_id: string;
    is_disabled: boolean;
  }>(
    `select a.id, a.wallet_id, a.disabled_at is not null as is_disabled, w.id as workspace_id from accounts a
     join workspaces w on w.account_id = a.id and w.is_default where a.user_id = $1`,
    [userId],
  );
  const row = rows[0];
  return (
    row && {
      accountId: row.id,
      walletId: row.wallet_id,
      defaultWorkspaceId: row.workspace_id,
      isDisabled: row.is_disabled,
    }
  );
}
