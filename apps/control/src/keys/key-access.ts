import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { unknown } from '../serve/unknown.ts';
import { assertMay } from '../workspaces/permissions.ts';
import { lockWorkspace } from '../workspaces/workspace-access.ts';

/**
 * Locks the workspace of a key whose caller may change it: its maker, or one who may change all of them. Throws
 * `not_found` to whoever is not in that workspace, and `forbidden` to whoever is, with a role too weak.
 */
export async function lockKey(client: pg.PoolClient, accountId: string, keyId: string): Promise<void> {
  const { rows } = await client.query<{ workspace_id: string; created_by: string; kind: string }>(
    `select workspace_id, created_by, kind from api_keys k where id = $1
       and not exists (select from connect_grants g where g.key_id = k.id)`,
    [keyId],
  );
  const [key] = rows;
  if (key === undefined) throw unknown('key');
  const { role } = await lockWorkspace(client, { accountId, workspaceId: key.workspace_id, action: 'read' }).catch(
    (error: unknown) => {
      throw error instanceof ServiceError && error.type === 'not_found' ? unknown('key') : error;
    },
  );
  if (key.kind === 'management') assertMay(role, 'makeManagementKeys');
  assertMay(role, key.created_by === accountId ? 'useOwnKeys' : 'useAllKeys');
}
