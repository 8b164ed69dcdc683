import type pg from 'pg';
import { inTransaction } from '../database/in-transaction.ts';
import type { GroupRole } from '../sessions/sign-in-settings.ts';
import { applyGroupRoles } from './group-roles.ts';

interface RoleStore {
  readonly pool: pg.Pool;
  readonly map: readonly GroupRole[];
}

/**
 * Gives people of SCIM the roles of their groups, where a change of a group has left that to do. Each has a transaction of their own, so
 * that a change of a large group locks one account at a time. Returns the changed keys, for the projector, and the first failure.
 *
 * Interleavings: of two calls for one person, the second waits for the person's row, and finds nothing left to do. A change of a group
 * that comes between marks the person again.
 */
export async function giveDueRoles(
  { pool, map }: RoleStore,
  people: readonly string[],
): Promise<{ readonly keyIds: readonly string[]; readonly failure?: unknown }> {
  const keyIds: string[] = [];
  let failure: unknown;
  for (const id of people)
    await inTransaction(pool, (client) => giveRoles(client, id, map)).then(
      (changed) => void keyIds.push(...changed),
      (error: unknown) => {
        failure ??= error;
      },
    );
  return { keyIds, failure };
}

async function giveRoles(client: pg.PoolClient, id: string, map: readonly GroupRole[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ accountId: string | null }>(
    'update scim_users set roles_due = false where id = $1 and roles_due returning account_id as "accountId"',
    [id],
  );
  const accountId = rows[0]?.accountId ?? null;
  return accountId === null ? [] : applyGroupRoles(client, { accountId, map });
}

/** Returns people whose roles are left to give, at most `most`. */
export async function readDuePeople(pool: pg.Pool, most: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>('select id from scim_users where roles_due order by id limit $1', [
    most,
  ]);
  return rows.map(({ id }) => id);
}
