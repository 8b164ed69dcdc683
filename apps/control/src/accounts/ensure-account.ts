import { randomBytes, randomUUID } from 'node:crypto';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';

export interface AccountIds {
  readonly accountId: string;
  readonly walletId: string;
  readonly defaultWorkspaceId: string;
}

/**
 * The account of a user, with its wallet and default workspace; made where it is missing. Safe to call at any time and
 * from several processes: the database's unique indexes let one of them win.
 */
export async function ensureAccount(
  pool: pg.Pool,
  user: { readonly id: string; readonly name: string },
): Promise<AccountIds & { readonly created: boolean }> {
  const found = await findAccount(pool, user.id);
  if (found !== undefined) return { ...found, created: false };
  const created = await createAccount(pool, { userId: user.id, name: user.name }).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === '23505') return undefined;
    throw error;
  });
  if (created !== undefined) return { ...created, created: true };
  const theirs = await findAccount(pool, user.id);
  if (theirs === undefined) throw new Error('the account was neither found nor made');
  return { ...theirs, created: false };
}

/** Makes an account with its wallet and default workspace, in one transaction. */
export async function createAccount(
  pool: pg.Pool,
  { userId, name }: { readonly userId: string | undefined; readonly name: string },
): Promise<AccountIds> {
  const ids = { accountId: randomUUID(), walletId: randomBytes(16).toString('hex'), defaultWorkspaceId: randomUUID() };
  const client = await pool.connect();
  try {
    await client.query('begin');
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
    await client.query('commit');
    return ids;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

async function findAccount(pool: pg.Pool, userId: string): Promise<AccountIds | undefined> {
  const { rows } = await pool.query<{ id: string; wallet_id: string; workspace_id: string }>(
    `select a.id, a.wallet_id, w.id as workspace_id from accounts a
     join workspaces w on w.account_id = a.id and w.is_default where a.user_id = $1`,
    [userId],
  );
  const row = rows[0];
  return row && { accountId: row.id, walletId: row.wallet_id, defaultWorkspaceId: row.workspace_id };
}
