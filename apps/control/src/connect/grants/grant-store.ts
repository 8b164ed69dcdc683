import { nusdToUsd } from '@sotto/money';
import { type AppScope, type GrantAnswer, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { unknown } from '../../serve/unknown.ts';
import { assertMay } from '../../workspaces/permissions.ts';
import { lockWorkspace } from '../../workspaces/workspace-access.ts';
import { endGrants } from './end-grants.ts';

interface Row {
  id: string;
  app_id: string;
  app_name: string;
  homepage: string;
  scopes: AppScope[];
  workspace_id: string;
  workspace_name: string;
  account_id: string;
  key_id: string;
  credit_limit_nusd: string | null;
  spent_nusd: string;
  created_at: Date;
  last_used_at: Date | null;
  expires_at: Date;
  revoked_at: Date | null;
}

/** Beyond this the history is not told. */
const mostListed = 500;

/** What an account has allowed, or all that was allowed in a workspace: active and past, the newest first. */
export async function listGrants(
  pool: pg.Pool,
  of: { readonly accountId: string } | { readonly workspaceId: string },
): Promise<GrantAnswer[]> {
  const [column, id] = 'workspaceId' in of ? ['k.workspace_id', of.workspaceId] : ['g.account_id', of.accountId];
  const { rows } = await pool.query<Row>(
    `select g.id, g.app_id, p.name as app_name, p.homepage, g.scopes, k.workspace_id, w.name as workspace_name,
       g.account_id, g.key_id, k.credit_limit_nusd, k.spent_nusd, g.created_at, k.last_used_at, g.expires_at, k.revoked_at
     from connect_grants g join connect_apps p on p.id = g.app_id join api_keys k on k.id = g.key_id
     join workspaces w on w.id = k.workspace_id
     where ${column} = $1 order by k.revoked_at is null desc, g.created_at desc, g.id limit ${mostListed}`,
    [id],
  );
  return rows.map(toAnswer);
}

/** Whether an account has an active grant for an app. */
export async function hasActiveGrant(pool: pg.Pool, accountId: string, appId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select 1 from connect_grants g join api_keys k on k.id = g.key_id
     where g.account_id = $1 and g.app_id = $2 and k.revoked_at is null and g.expires_at > now() limit 1`,
    [accountId, appId],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Ends a grant for whoever made it, or may revoke every key of its workspace. Answers the keys' ids; none where it had
 * ended. Throws `not_found` to whoever has nothing to do with it, and `forbidden` to members with a role too weak.
 */
export async function disconnect(
  client: pg.PoolClient,
  { accountId, grantId }: { readonly accountId: string; readonly grantId: string },
): Promise<readonly string[]> {
  const { rows } = await client.query<{ account_id: string; workspace_id: string }>(
    `select g.account_id, k.workspace_id from connect_grants g join api_keys k on k.id = g.key_id where g.id = $1`,
    [grantId],
  );
  const [grant] = rows;
  if (grant === undefined) throw unknown('grant');
  if (grant.account_id !== accountId) {
    const { workspace_id: workspaceId } = grant;
    const { role } = await lockWorkspace(client, { accountId, workspaceId, action: 'read' }).catch((error: unknown) => {
      throw error instanceof ServiceError && error.type === 'not_found' ? unknown('grant') : error;
    });
    assertMay(role, 'useAllKeys');
  }
  return endGrants(client, { grantIds: [grantId] });
}

const toAnswer = (row: Row): GrantAnswer => ({
  id: row.id,
  app: { id: row.app_id, name: row.app_name, homepage: row.homepage },
  scopes: row.scopes,
  workspace: { id: row.workspace_id, name: row.workspace_name },
  granted_by: row.account_id,
  key_id: row.key_id,
  credit_limit_usd: row.credit_limit_nusd === null ? null : nusdToUsd(BigInt(row.credit_limit_nusd)),
  spent_usd: nusdToUsd(BigInt(row.spent_nusd)),
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at.toISOString(),
  ended_at: row.revoked_at?.toISOString() ?? null,
});
