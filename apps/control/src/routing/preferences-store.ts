import { type Preferences, preferencesSchema, readPreferences } from '@sotto/router';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';

/** A workspace of the account: the named one, or its default one. Throws `not_found` for any other. */
async function findWorkspace(
  client: pg.Pool | pg.PoolClient,
  accountId: string,
  workspaceId: string | undefined,
  lock: '' | 'for update',
): Promise<{ readonly id: string; readonly preferences: Preferences }> {
  const { rows } = await client.query<{ id: string; preferences: unknown }>(
    `select id, preferences from workspaces
     where account_id = $1 and (id = $2::uuid or ($2::uuid is null and is_default)) ${lock}`,
    [accountId, workspaceId ?? null],
  );
  const [row] = rows;
  if (row === undefined) {
    throw new ServiceError('not_found', { message: 'This account has no such workspace.', param: 'workspace_id' });
  }
  return { id: row.id, preferences: preferencesSchema.parse(row.preferences) };
}

export async function readWorkspacePreferences(
  pool: pg.Pool,
  accountId: string,
  workspaceId: string | undefined,
): Promise<Preferences> {
  return (await findWorkspace(pool, accountId, workspaceId, '')).preferences;
}

/**
 * Replaces a workspace's preferences (interface 2.8). The generation of each of its keys rises in the same transaction:
 * brokers then take no plan that was made with the old ones, and tickets minted under them are void.
 */
export async function putWorkspacePreferences(
  pool: pg.Pool,
  { accountId, workspaceId, sent }: { accountId: string; workspaceId: string | undefined; sent: unknown },
): Promise<{ readonly preferences: Preferences; readonly keyIds: readonly string[] }> {
  return inTransaction(pool, async (client) => {
    const { id, preferences: kept } = await findWorkspace(client, accountId, workspaceId, 'for update');
    const read = readPreferences(sent, kept);
    if (!read.ok) throw new ServiceError(read.refusal.type, read.refusal);
    await client.query('update workspaces set preferences = $2 where id = $1', [id, JSON.stringify(read.value)]);
    const { rows } = await client.query<{ id: string }>(
      'update api_keys set generation = generation + 1 where workspace_id = $1 returning id',
      [id],
    );
    return { preferences: read.value, keyIds: rows.map((row) => row.id) };
  });
}
