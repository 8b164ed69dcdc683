import { randomUUID } from 'node:crypto';
import { until, whileHeld } from '@sotto/test-servers';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { byAccount } from '../audit-log/record-act.ts';
import { refused } from '../database/refused.ts';
import { setDisabledWithin } from '../operator/account-store.ts';
import { createPerson } from '../sessions/create-person.ts';
import { openTestDatabase } from '../testing/test-database.integration.ts';
import { createPermission, revokePermission } from './standing-permission.ts';

const { pool } = await openTestDatabase();

async function signedIn() {
  const person = await createPerson(pool, { email: `${randomUUID()}@people.example`, name: 'Ann' });
  if (person === undefined) throw new Error('no person');
  const sessionId = randomUUID();
  await pool.query(
    "insert into auth_session (id, token, user_id, expires_at) values ($1, $1, $2, now() + interval '1 day')",
    [sessionId, person.userId],
  );
  return { ...person, sessionId };
}
const create = ({ accountId, sessionId }: { accountId: string; sessionId: string }) =>
  createPermission(pool, { accountId, sessionId, lots: 7, expiresAt: new Date(Date.now() + 60_000) });
const permissions = async (accountId: string) =>
  (await pool.query('select lots from credit_codes where account_id = $1', [accountId])).rows;

it('the audit log has who created and revoked a permission, and nothing that a purchase shows', async () => {
  const ann = await signedIn();
  const code = await create(ann);
  expect(await permissions(ann.accountId)).toEqual([{ lots: 7 }]);
  await revokePermission(pool, ann.accountId);
  await revokePermission(pool, ann.accountId);
  const { rows } = await pool.query<{ act: string; details: object }>(
    'select actor, actor_account_id, act, workspace_id, details from acts where account_id = $1 order by id',
    [ann.accountId],
  );
  const by = { actor: 'account', actor_account_id: ann.accountId, workspace_id: null };
  expect(rows).toEqual([
    { ...by, act: 'credit_permission_created', details: { lots: 7 } },
    { ...by, act: 'credit_permission_revoked', details: {} },
  ]);
  expect(JSON.stringify(rows)).not.toContain(code);
});

// A thief with a session asks for a code. Its check of the session is over when the owner sets a new password, which deletes the sessions and
// then the permission, or when an operator disables the account. The code would outlast both.
it.each([
  [
    'sets a password',
    'auth_session',
    'signed_out',
    (client: pg.PoolClient, { userId }: { userId: string }) =>
      client.query('delete from auth_session where user_id = $1', [userId]),
  ],
  [
    'is disabled',
    'accounts',
    'disabled',
    (client: pg.PoolClient, { accountId }: { accountId: string }) =>
      setDisabledWithin(client, { accountId, actor: byAccount(accountId), isDisabled: true }),
  ],
] as const)('a session that ends while its owner %s creates no permission', async (_, table, why, ends) => {
  const ann = await signedIn();
  const held = {
    rows: `select from ${table} where ${table === 'accounts' ? 'id' : 'user_id'} = $1 for update`,
    values: [table === 'accounts' ? ann.accountId : ann.userId],
    waiting: `select from ${table}`,
    meanwhile: (client: pg.PoolClient) => ends(client, ann),
  };
  expect(await whileHeld(pool, held, [() => create(ann)])).toEqual([refused(why)]);
  expect(await permissions(ann.accountId)).toEqual([]);
});

// The other order: the permission is stored first. The deletion of the sessions waits for it, so what follows it finds the permission.
it('a password that is set after a permission was stored revokes it', async () => {
  const ann = await signedIn();
  const reset = async () => {
    await pool.query('delete from auth_session where user_id = $1', [ann.userId]);
    await revokePermission(pool, ann.accountId);
  };
  let resetting: Promise<void> | undefined;
  const held = {
    ...{ rows: 'lock table acts in access exclusive mode', waiting: 'insert into acts' },
    meanwhile: async () => {
      resetting = reset();
      const waits = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and starts_with(query, 'delete from auth_session')`;
      await until(async () => (await pool.query(waits)).rowCount === 1, 'the deletion waits');
    },
  };
  await whileHeld(pool, held, [() => create(ann)]);
  await resetting;
  expect(await permissions(ann.accountId)).toEqual([]);
});
