import type pg from 'pg';
import { byApp } from '../audit-log/record-act.ts';
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
/** What its keys and those of its apps are called then. */
const deletedName = 'Deleted key';

/**
 * Takes one step to end a deleted account. It revokes keys that the account pays for or created, ends grants of its apps, and removes
 * the names of these keys and the tags of those that it pays for. The tags of others are what their workspaces group closed months by. The
 * rows themselves tell what is left, so any process can go on where another one stopped. Returns whether there may be more.
 */
export async function endAccount({ pool, projector }: EndingDependencies, accountId: string): Promise<boolean> {
  const { keyIds, changed } = await inTransaction(pool, async (client) => {
    // Locks all keys of the step at once, in the order in which bookings update them, so that the two cannot deadlock.
    const { rows } = await client.query<{ id: string; is_own: boolean }>(
      `select k.id, k.account_id = $1 or k.created_by = $1 as is_own from api_keys k
       where k.id in (select id from api_keys where account_id = $1 or created_by = $1 union all
           select g.key_id from connect_apps p join connect_grants g on g.app_id = p.id where p.account_id = $1)
         and (k.revoked_at is null or k.name <> $2 or (k.tag is not null and k.account_id = $1))
       order by k.id limit ${stepSize} for update of k`,
      [accountId, deletedName],
    );
    const ids = rows.map(({ id }) => id);
    const of = (isOwn: boolean) => rows.filter(({ is_own }) => is_own === isOwn).map(({ id }) => id);
    const revoked = await changeKeys(client, {
      where: 'k.id = any($1::uuid[]) and k.revoked_at is null',
      values: [of(true)],
      revokes: true,
    });
    const ended = await endGrants(client, { keyIds: of(false) }, byApp);
    await client.query(
      'update api_keys set name = $2, tag = case when account_id = $3 then null else tag end where id = any($1::uuid[])',
      [ids, deletedName, accountId],
    );
    return { keyIds: [...revoked, ...ended], changed: ids.length };
  });
  await projectKeys(projector, keyIds);
  return changed > 0;
}
