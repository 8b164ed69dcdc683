import type pg from 'pg';
import { changeKeys } from '../projection/project-keys.ts';

/**
 * Revokes the active keys of a workspace, or only those that one account created there. Returns their ids, for the
 * projector. The caller holds the workspace's lock.
 */
export const revokeWorkspaceKeys = (
  client: pg.PoolClient,
  workspaceId: string,
  createdBy?: string,
): Promise<readonly string[]> =>
  changeKeys(client, {
    where: 'k.workspace_id = $1 and k.revoked_at is null and ($2::uuid is null or k.created_by = $2)',
    values: [workspaceId, createdBy ?? null],
    revokes: true,
  });
