import type pg from 'pg';

/**
 * Revokes the active keys of a workspace, or only those that one account created there. Returns their ids, for the
 * projector. The caller holds the workspace's lock.
 */
export async function revokeWorkspaceKeys(
  client: pg.PoolClient,
  workspaceId: string,
  createdBy?: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    // Lock the keys in the order in which bookings update them, so that the two cannot deadlock.
    `with working as (
       select id from api_keys
       where workspace_id = $1 and revoked_at is null and ($2::uuid is null or created_by = $2) order by id for update)
     update api_keys set revoked_at = now(), generation = generation + 1 from working where api_keys.id = working.id
     returning api_keys.id`,
    [workspaceId, createdBy ?? null],
  );
  return rows.map((row) => row.id);
}
