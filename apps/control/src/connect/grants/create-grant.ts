import { randomUUID } from 'node:crypto';
import type { Nusd } from '@sotto/money';
import { type AppScope, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { insertKey } from '../../keys/key-store.ts';
import { lockWorkspace } from '../../workspaces/workspace-access.ts';
import { endGrants } from './end-grants.ts';

/** What somebody allows. */
export interface NewGrant {
  /** Who allows it. */
  readonly accountId: string;
  readonly appId: string;
  /** Where the app's request has its code sent; must still be one of the app's. */
  readonly redirectUri: string;
  readonly scopes: readonly AppScope[];
  /** Undefined: the default one of the account. */
  readonly workspaceId: string | undefined;
  /** Undefined: none. */
  readonly creditLimitNusd: Nusd | undefined;
}

const grantDays = 365;
/** Of one account for one app, so that an app which asks at each sign-in leaves no endless trail. */
const mostActive = 10;

/** A grant that was made, and the keys that changed by it: its own, and those of older grants beyond the limit. */
export interface MadeGrant {
  readonly grantId: string;
  readonly keyIds: readonly string[];
}

/**
 * Makes a grant with its key, within the caller's transaction. Throws as `lockWorkspace` does where the account may not
 * use keys there, and `conflict` where the app was disabled or changed since it asked.
 */
export async function createGrant(client: pg.PoolClient, grant: NewGrant): Promise<MadeGrant> {
  const workspace = await lockWorkspace(client, {
    accountId: grant.accountId,
    workspaceId: grant.workspaceId,
    action: 'useOwnKeys',
  });
  const { rows } = await client.query<{ name: string }>(
    'select name from connect_apps where id = $1 and disabled_at is null and redirect_uris ? $2 for share',
    [grant.appId, grant.redirectUri],
  );
  const [app] = rows;
  if (app === undefined) throw changedMeanwhile();
  // Its secret is dropped here: the app's tokens stand for it, and nothing else does.
  const { id: keyId } = await insertKey(client, {
    accountId: workspace.accountId,
    createdBy: grant.accountId,
    workspaceId: workspace.id,
    kind: 'inference',
    name: app.name,
    creditLimitNusd: grant.creditLimitNusd,
    openaiCompatible: false,
  });
  const grantId = randomUUID();
  await client.query(
    `insert into connect_grants (id, app_id, account_id, key_id, scopes, expires_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 day')`,
    [grantId, grant.appId, grant.accountId, keyId, JSON.stringify(grant.scopes), grantDays],
  );
  const beyond = await client.query<{ id: string }>(
    `select g.id from connect_grants g join api_keys k on k.id = g.key_id
     where g.app_id = $1 and g.account_id = $2 and k.revoked_at is null order by g.created_at desc, g.id offset $3`,
    [grant.appId, grant.accountId, mostActive],
  );
  const ended = await endGrants(client, { grantIds: beyond.rows.map(({ id }) => id) });
  return { grantId, keyIds: [keyId, ...ended] };
}

export const changedMeanwhile = (): ServiceError =>
  new ServiceError('conflict', { message: 'The app has changed since it asked. Go back to it and start again.' });
