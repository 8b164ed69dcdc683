import { randomUUID } from 'node:crypto';
import { whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { disableApps } from '../connect/apps/app-store.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { claimWorkspaces } from '../workspaces/claim-workspaces.ts';
import { workspacesOn } from '../workspaces/workspaces-on.integration.ts';
import { claimAccount } from './claim-account.ts';

const { pool } = await openTestDatabase();
const { person } = workspacesOn(pool, Date.now());
const steps = [claimWorkspaces, disableApps];

/** A person with a user and two workspaces, in the order of their ids. */
async function stranger() {
  const { accountId } = await person();
  const { rows: users } = await pool.query<{ user_id: string }>('select user_id from accounts where id = $1', [
    accountId,
  ]);
  await pool.query(
    `insert into workspaces (id, account_id, name, preferences)
     select gen_random_uuid(), account_id, 'Second', preferences from workspaces where account_id = $1`,
    [accountId],
  );
  const { rows } = await pool.query<{ id: string }>('select id from workspaces where account_id = $1 order by id', [
    accountId,
  ]);
  return { accountId, userId: users[0]?.user_id ?? '', places: rows.map(({ id }) => id) };
}

const makeKey = (id: string, accountId: string, workspaceId: string | undefined) =>
  pool.query(
    `insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview, projected_generation)
     values ($1::uuid, $2, $3, $2, 'inference', 'x', ($1::uuid)::text, 'x', 1)`,
    [id, accountId, workspaceId],
  );

// A booking has locked the first key by the order of ids, and now needs the last. The claim revokes the last key, of a workspace, before
// the first, of the app. It must not hold the last while it waits for the first.
it('a claim and a booking of the same keys do not deadlock', async () => {
  const { accountId, userId, places } = await stranger();
  const ben = await person();
  const ids = [randomUUID(), randomUUID(), randomUUID()].sort();
  const [first = '', second = '', last = ''] = ids;
  const app = randomUUID();
  await makeKey(last, accountId, places[0]);
  await makeKey(second, accountId, places[1]);
  const { rows } = await pool.query<{ id: string }>('select id from workspaces where account_id = $1', [ben.accountId]);
  await makeKey(first, ben.accountId, rows[0]?.id);
  await pool.query(
    `insert into connect_apps (id, account_id, name, homepage, type, redirect_uris, post_logout_redirect_uris, scopes)
     values ($1, $2, 'x', 'https://x.example', 'public', '[]', '[]', '[]')`,
    [app, accountId],
  );
  await pool.query(
    `insert into connect_grants (id, app_id, account_id, key_id, scopes, expires_at)
     values (gen_random_uuid(), $1, $2, $3, '[]', now() + interval '1 day')`,
    [app, ben.accountId, first],
  );
  const lock = 'select from api_keys where id = $1 for update';
  const held = {
    ...{ rows: lock, values: [first], waiting: '' },
    meanwhile: (booking: pg.PoolClient) => booking.query(lock, [last]),
  };
  const [keyIds] = await whileHeld(pool, held, [() => claimAccount(pool, userId, steps)]);
  expect([...(keyIds ?? [])].sort()).toEqual(ids);
});

// Postgres may end the claim for another transaction. The new password is set by then, so nothing else would take the account back.
it('a claim that Postgres ended for another transaction is tried again, as a whole', async () => {
  const { accountId, userId, places } = await stranger();
  const key = randomUUID();
  await makeKey(key, accountId, places[0]);
  let tries = 0;
  const deadlocked = async (client: pg.PoolClient): Promise<readonly string[]> => {
    tries += 1;
    if (tries === 1) await client.query("do $$ begin raise exception 'x' using errcode = '40P01'; end $$");
    return [];
  };
  expect(await claimAccount(pool, userId, [claimWorkspaces, deadlocked])).toEqual([key]);
  expect(tries).toBe(2);
  const { rows } = await pool.query('select from api_keys where id = $1 and revoked_at is not null', [key]);
  expect(rows).toHaveLength(1);
  const failing = () => Promise.reject(new Error('refused'));
  await expect(claimAccount(pool, userId, [failing])).rejects.toThrow('refused');
});
