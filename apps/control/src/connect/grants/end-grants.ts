import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';

/** Which grants: one, those of an app, or some. */
export type GrantSelection = { readonly grantIds: readonly string[] } | { readonly appId: string };

/**
 * Ends grants that are active, within the caller's transaction: their keys are revoked, and with them every ticket that
 * was minted for them; their codes and tokens go. Answers the keys' ids, for the projector.
 */
export async function endGrants(client: pg.PoolClient, of: GrantSelection): Promise<readonly string[]> {
  const [condition, value] =
    'appId' in of ? ['g.app_id = $1::uuid', of.appId] : ['g.id = any($1::uuid[])', of.grantIds];
  const { rows } = await client.query<{ id: string }>(
    // Locked in the order in which bookings update keys, so that neither waits for the other in a circle.
    `with working as (
       select k.id from api_keys k join connect_grants g on g.key_id = k.id
       where ${condition} and k.revoked_at is null order by k.id for update of k)
     update api_keys set revoked_at = now(), generation = generation + 1 from working where api_keys.id = working.id
     returning api_keys.id`,
    [value],
  );
  await client.query(
    `delete from connect_artifacts where grant_id in (select g.id from connect_grants g where ${condition})`,
    [value],
  );
  return rows.map(({ id }) => id);
}

export interface EndDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
}

/** Ends one grant, and every broker knows when this resolves. Ending it twice is the same as once. */
export async function endGrant({ pool, projector }: EndDependencies, grantId: string): Promise<void> {
  const keyIds = await inTransaction(pool, (client) => endGrants(client, { grantIds: [grantId] }));
  await projectKeys(projector, keyIds);
}
