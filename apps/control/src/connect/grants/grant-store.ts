import { randomUUID } from 'node:crypto';
import type { Maxima } from '@sotto/contract';
import type { AppScope } from '@sotto/contract/control/app-scopes';
import type { GrantAnswer } from '@sotto/contract/control/connect';
import { type Nusd, nusdToUsd } from '@sotto/money';
import type pg from 'pg';
import { byAccount, recordAct } from '../../audit-log/record-act.ts';
import type { SqlRow } from '../../database/columns.ts';
import type { connectApps, connectGrants } from '../../database/connect-schema.ts';
import { heldLimit } from '../../database/held-rules.ts';
import { Refused, refused } from '../../database/refused.ts';
import type { apiKeys } from '../../database/schema.ts';
import { insertKey } from '../../keys/key-store.ts';
import { type AtMaximum, atMaximum } from '../../limits/maximum.ts';
import { type WeakRole, weakRole } from '../../workspaces/permissions.ts';
import { lockWorkspace, type NoAccess } from '../../workspaces/workspace-access.ts';
import { grantExpiry, isActiveGrant, isUsableApp, joinedApps, joinedGrants } from './active-grant.ts';
import { endGrants } from './end-grants.ts';

type Row = SqlRow<typeof connectGrants> &
  SqlRow<typeof connectApps, 'homepage'> &
  SqlRow<
    typeof apiKeys,
    'workspace_id' | 'credit_limit_nusd' | 'spent_nusd' | 'tag' | 'last_used_at' | 'revoked_at'
  > & {
    app_name: string;
    workspace_name: string | null;
  };

/** Older grants beyond this number are not listed. */
const maxListed = 500;

/** SQL: whether the person of the grant `g` is still in its workspace `w`, and so may know what it is called now. */
const isStillIn = `(w.account_id = g.account_id or exists (
  select from workspace_members m where m.workspace_id = w.id and m.account_id = g.account_id))`;

/** Returns the grants of an account or of a workspace, active and past, the newest first. */
export async function listGrants(
  pool: pg.Pool,
  of: { readonly accountId: string } | { readonly workspaceId: string },
): Promise<GrantAnswer[]> {
  const [column, id, isNamed] =
    'workspaceId' in of ? ['k.workspace_id', of.workspaceId, 'true'] : ['g.account_id', of.accountId, isStillIn];
  const { rows } = await pool.query<Row>(
    `select g.id, g.app_id, p.name as app_name, p.homepage, g.scopes, k.workspace_id,
       case when ${isNamed} then w.name end as workspace_name, g.account_id, g.key_id, ${heldLimit} as credit_limit_nusd,
       k.spent_nusd, k.tag, g.created_at, k.last_used_at,
       ${grantExpiry} as expires_at, k.revoked_at
     from ${joinedGrants} where ${column} = $1 order by k.revoked_at is null desc, g.created_at desc, g.id limit ${maxListed}`,
    [id],
  );
  return rows.map(toAnswer);
}

export async function hasActiveGrant(pool: pg.Pool, accountId: string, appId: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `select 1 from ${joinedGrants} where g.account_id = $1 and g.app_id = $2 and ${isActiveGrant} limit 1`,
    [accountId, appId],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Ends a grant. Its creator may, and so may a member who may revoke every key of its workspace. Returns the keys' ids,
 * or none if the grant had ended already. Callers outside the workspace cannot tell the grant from one that does not exist.
 */
export async function disconnect(
  client: pg.PoolClient,
  { accountId, grantId }: { readonly accountId: string; readonly grantId: string },
): Promise<readonly string[] | Refused<WeakRole | { readonly why: 'no_grant' }>> {
  const { rows } = await client.query<{ account_id: string; workspace_id: string }>(
    `select g.account_id, k.workspace_id from connect_grants g join api_keys k on k.id = g.key_id where g.id = $1`,
    [grantId],
  );
  const [grant] = rows;
  if (grant === undefined) return refused('no_grant');
  if (grant.account_id !== accountId) {
    const { workspace_id: workspaceId } = grant;
    const workspace = await lockWorkspace(client, { accountId, workspaceId, action: 'read' });
    if (workspace instanceof Refused) return refused('no_grant');
    const weak = weakRole(workspace.role, 'useAllKeys');
    if (weak !== undefined) return weak;
  }
  return endGrants(client, { grantIds: [grantId] }, byAccount(accountId));
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
  tag: row.tag,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at?.toISOString() ?? null,
  expires_at: row.expires_at.toISOString(),
  ended_at: row.revoked_at?.toISOString() ?? null,
});

/** The rights that a person gives to an app. */
export interface NewGrant {
  /** The account of the person. */
  readonly accountId: string;
  readonly appId: string;
  /** The address to which the app's request has its code sent. The app must still list it. */
  readonly redirectUri: string;
  readonly scopes: readonly AppScope[];
  /** Undefined: the account's default workspace. */
  readonly workspaceId: string | undefined;
  readonly maxima: Maxima;
  /** Undefined: none but the policy's. */
  readonly creditLimitNusd: Nusd | undefined;
}

const grantDays = 365;
/** Most active grants of one account for one app, so that an app which asks at each sign-in does not collect them. */
const maxActive = 10;

/** A new grant, and the keys that changed with it: its own, and those of older grants beyond the limit. */
export interface CreatedGrant {
  readonly grantId: string;
  readonly keyIds: readonly string[];
}

/** A limit above the largest that the workspace's policy allows. */
export interface BeyondPolicy {
  readonly why: 'beyond_policy';
  readonly mostNusd: Nusd;
}

/**
 * Creates a grant with its key, within the caller's transaction. `app_changed`: the app or its developer was disabled, or the app changed,
 * since it asked.
 *
 * Interleavings: accounts are locked before the app, in the order of their ids, as `claimAccount` says. A disabling of one of them either
 * waits, and then finds the new key, or commits first, and is seen by the query of the app. Without the lock, an app could mint a ticket
 * with the new key before the disabling commits, which would not void it.
 */
export async function createGrant(
  client: pg.PoolClient,
  grant: NewGrant,
): Promise<CreatedGrant | Refused<NoAccess | AtMaximum | BeyondPolicy | { readonly why: 'app_changed' }>> {
  const workspace = await lockWorkspace(client, {
    accountId: grant.accountId,
    workspaceId: grant.workspaceId,
    action: 'useOwnKeys',
  });
  if (workspace instanceof Refused) return workspace;
  const { maxKeyLimitNusd: mostNusd } = workspace.policy;
  const { creditLimitNusd } = grant;
  if (mostNusd !== null && creditLimitNusd !== undefined && creditLimitNusd > mostNusd)
    return new Refused({ why: 'beyond_policy', mostNusd });
  await client.query(
    `select from accounts where id in ($1, $2, (select account_id from connect_apps where id = $3)) order by id for key share`,
    [workspace.accountId, grant.accountId, grant.appId],
  );
  const { rows } = await client.query<{ name: string }>(
    `select p.name from ${joinedApps} where p.id = $1 and ${isUsableApp} and p.redirect_uris ? $2 for share of p`,
    [grant.appId, grant.redirectUri],
  );
  const [app] = rows;
  if (app === undefined) return refused('app_changed');
  const full = await atMaximum(client, 'keys', {
    accountId: workspace.accountId,
    creatorId: grant.accountId,
    maxima: grant.maxima,
  });
  if (full !== undefined) return full;
  // Drop the key's secret: only the app's tokens can use this key.
  const { id: keyId, credit_limit_usd } = await insertKey(client, {
    accountId: workspace.accountId,
    createdBy: grant.accountId,
    workspaceId: workspace.id,
    kind: 'inference',
    name: app.name,
    creditLimitNusd,
    openaiCompatible: false,
  });
  const grantId = randomUUID();
  await client.query(
    `insert into connect_grants (id, app_id, account_id, key_id, scopes, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 day')`,
    [grantId, grant.appId, grant.accountId, keyId, JSON.stringify(grant.scopes), grantDays],
  );
  const actor = byAccount(grant.accountId);
  await recordAct(client, {
    ...{ actor, act: 'key_created', accountId: grant.accountId, workspaceId: workspace.id },
    details: { key_id: keyId, app_id: grant.appId, credit_limit_usd },
  });
  const beyond = await client.query<{ id: string }>(
    `select g.id from connect_grants g join api_keys k on k.id = g.key_id
     where g.app_id = $1 and g.account_id = $2 and k.revoked_at is null order by g.created_at desc, g.id offset $3`,
    [grant.appId, grant.accountId, maxActive],
  );
  const ended = await endGrants(client, { grantIds: beyond.rows.map(({ id }) => id) }, actor);
  return { grantId, keyIds: [keyId, ...ended] };
}
