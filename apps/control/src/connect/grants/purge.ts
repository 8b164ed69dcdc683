import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import { type EndDependencies, endGrants } from './end-grants.ts';

const atOnce = 1000;

/**
 * Deletes what the protocol kept beyond its time, and ends grants that nothing can be done with any more: those whose
 * year is over, and those of which every code and token has expired or was used. Resolves to whether there is more.
 */
export async function purgeConnect({ pool, projector }: EndDependencies): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from connect_artifacts where id in
       (select id from connect_artifacts where expires_at < now() - interval '1 minute' limit ${atOnce})`,
  );
  const idle = await findIdleGrants(pool);
  if (idle.length > 0) {
    const keyIds = await inTransaction(pool, (client) => endGrants(client, { grantIds: idle }));
    await projectKeys(projector, keyIds);
  }
  return rowCount === atOnce || idle.length === atOnce;
}

async function findIdleGrants(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    // An hour, so that one whose browser is still on its way back to the app is not taken for one; and what was used a
    // moment ago counts, because the tokens that follow it are still being written.
    `select g.id from connect_grants g join api_keys k on k.id = g.key_id
     where k.revoked_at is null and (g.expires_at <= now() or (g.created_at < now() - interval '1 hour' and not exists
       (select from connect_artifacts a where a.grant_id = g.id and a.expires_at > now()
         and (a.consumed_at is null or a.consumed_at > now() - interval '5 minutes'))))
     limit ${atOnce}`,
  );
  return rows.map(({ id }) => id);
}
