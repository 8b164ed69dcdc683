import type pg from 'pg';
import { endGrants } from '../connect/grants/end-grants.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { changeKeys, projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';

export interface EndingDependencies {
  readonly pool: pg.Pool;
  readonly projector: Pick<Projector, 'keys'>;
}

/** The most rows that one step changes. */
const stepSize = 500;

/**
 * Takes one step to end a deleted account. It revokes keys that the account pays for or created, ends grants of its apps, and removes
 * the names and tags of its keys. The rows themselves tell what is left, so any process can go on where another one stopped. Returns whether
 * there may be more.
 */
export async function endAccount({ pool, projector }: EndingDependencies, accountId: string): Promise<boolean> {
  const { keyIds, changed } = await inTransaction(pool, async (client) => {
    const revoked = await changeKeys(client, {
      where: '(k.account_id = $1 or k.created_by = $1) and k.revoked_at is null',
      values: [accountId],
      revokes: true,
      most: stepSize,
    });
    const { rows: grants } = await client.query<{ id: string }>(
      `select g.id from connect_apps p join connect_grants g on g.app_id = p.id join api_keys k on k.id = g.key_id
       where p.account_id = $1 and k.revoked_at is null order by g.id limit ${stepSize}`,
      [accountId],
    );
    const ended = grants.length === 0 ? [] : await endGrants(client, { grantIds: grants.map(({ id }) => id) });
    const renamed = await client.query(
      // Lock the keys in the order in which bookings update them, so that the two cannot deadlock.
      `with named as (select id from api_keys where (account_id = $1 or created_by = $1) and (name <> $2 or tag is not null)
         order by id limit ${stepSize} for update)
       update api_keys set name = $2, tag = null from named where api_keys.id = named.id`,
      [accountId, 'Deleted key'],
    );
    return { keyIds: [...revoked, ...ended], changed: revoked.length + grants.length + (renamed.rowCount ?? 0) };
  });
  await projectKeys(projector, keyIds);
  return changed > 0;
}
