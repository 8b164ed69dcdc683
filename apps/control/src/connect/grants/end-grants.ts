import type pg from 'pg';
import { type Actor, byApp, recordActs } from '../../audit-log/record-act.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { changeKeys, projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';

/** The grants to end: those of an app, or by their ids or keys. */
export type GrantSelection =
  | { readonly appId: string }
  | { readonly grantIds: readonly string[] }
  | { readonly keyIds: readonly string[] };

/**
 * Ends active grants, within the caller's transaction. Revokes their keys, and with them every ticket minted for them.
 * Deletes their codes and tokens. Returns the keys' ids, for the projector. Without an actor, they have expired, which is no act.
 */
export async function endGrants(
  client: pg.PoolClient,
  of: GrantSelection,
  actor: Actor | undefined,
): Promise<readonly string[]> {
  const [condition, value] =
    'appId' in of
      ? ['g.app_id = $1::uuid', of.appId]
      : 'grantIds' in of
        ? ['g.id = any($1::uuid[])', of.grantIds]
        : ['g.key_id = any($1::uuid[])', of.keyIds];
  const keyIds = await changeKeys(client, {
    where: `k.revoked_at is null and k.id in (select g.key_id from connect_grants g where ${condition})`,
    values: [value],
    revokes: true,
  });
  await client.query(
    `delete from connect_artifacts where grant_id in (select g.id from connect_grants g where ${condition})`,
    [value],
  );
  if (actor === undefined || keyIds.length === 0) return keyIds;
  const { rows } = await client.query<{ key_id: string; app_id: string; account_id: string; workspace_id: string }>(
    `select g.key_id, g.app_id, g.account_id, k.workspace_id from connect_grants g join api_keys k on k.id = g.key_id
     where k.id = any($1::uuid[])`,
    [keyIds],
  );
  await recordActs(
    client,
    rows.map(({ account_id: accountId, workspace_id: workspaceId, ...details }) => ({
      ...{ actor, act: 'key_revoked', accountId, workspaceId, details },
    })),
  );
  return keyIds;
}

export interface EndDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
}

/** Ends one grant for its app. Every broker knows it when this resolves, as `projectKeys` says. Ending a grant again has no further effect. */
export async function endGrant({ pool, projector }: EndDependencies, grantId: string): Promise<void> {
  const keyIds = await inTransaction(pool, (client) => endGrants(client, { grantIds: [grantId] }, byApp));
  await projectKeys(projector, keyIds);
}

const atOnce = 1000;

/**
 * Deletes expired artifacts of the protocol, and ends grants that cannot be used any more. Those are grants whose year
 * is over, or whose codes and tokens have all expired or been used. Returns whether there is more to do.
 */
export async function purgeConnect({ pool, projector }: EndDependencies): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from connect_artifacts where id in
       (select id from connect_artifacts where expires_at < now() - interval '1 minute' limit ${atOnce})`,
  );
  const idle = await findIdleGrants(pool);
  if (idle.length > 0) {
    const keyIds = await inTransaction(pool, (client) => endGrants(client, { grantIds: idle }, undefined));
    await projectKeys(projector, keyIds);
  }
  return rowCount === atOnce || idle.length === atOnce;
}

async function findIdleGrants(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    // A looser policy may give back a grant that a policy has ended, so only the year counts. Wait an hour, because the browser may still
    // be on its way back to the app with a new code. Count artifacts used in the last minutes, because the tokens that replace them are
    // still being written.
    `select g.id from connect_grants g join api_keys k on k.id = g.key_id
     where k.revoked_at is null and (g.expires_at <= now() or (g.created_at < now() - interval '1 hour' and not exists
       (select from connect_artifacts a where a.grant_id = g.id and a.expires_at > now()
         and (a.consumed_at is null or a.consumed_at > now() - interval '5 minutes'))))
     limit ${atOnce}`,
  );
  return rows.map(({ id }) => id);
}
