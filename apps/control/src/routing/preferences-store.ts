import { readPreferences } from '@sotto/router';
import { type Preferences, preferencesSchema, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import { lockWorkspace, requireWorkspace } from '../workspaces/workspace-access.ts';

/** The preferences of a workspace, for anybody in it; without an id, of the account's default one. */
export async function readWorkspacePreferences(
  pool: pg.Pool,
  accountId: string,
  workspaceId: string | undefined,
): Promise<Preferences> {
  const { preferences } = await requireWorkspace(pool, { accountId, workspaceId, action: 'read' });
  return preferencesSchema.parse(preferences);
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
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action: 'writePreferences' });
    const read = readPreferences(sent, preferencesSchema.parse(workspace.preferences));
    if (!read.ok) throw new ServiceError(read.refusal.type, read.refusal);
    await client.query('update workspaces set preferences = $2 where id = $1', [
      workspace.id,
      JSON.stringify(read.value),
    ]);
    const { rows } = await client.query<{ id: string }>(
      'update api_keys set generation = generation + 1 where workspace_id = $1 returning id',
      [workspace.id],
    );
    return { preferences: read.value, keyIds: rows.map((row) => row.id) };
  });
}
