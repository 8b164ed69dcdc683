import { randomUUID } from 'node:crypto';
import { startTestPostgres, until } from '@sotto/test-servers';
import pg from 'pg';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { bookSettlements } from '../ledger/book-settlements.ts';
import { creditAccount } from '../ledger/post-transaction.ts';
import { makeOwners, settledChat } from '../testing/test-database.integration.ts';
import { openDatabase } from './database.ts';
import { listen } from './listen.ts';

const postgres = await startTestPostgres();
const url = await postgres.createDatabase();
const { pool, close } = openDatabase(url);
afterAll(async () => {
  await close();
  await postgres.stop();
});

let woken = 0;
let failures = 0;
const task = () =>
  listen(url, 'sotto_projection', {
    wake: () => {
      woken += 1;
    },
    failed: () => {
      failures += 1;
    },
  });
let listener: ReturnType<typeof task>;
beforeEach(async () => {
  woken = 0;
  failures = 0;
  listener = task();
  listener.start();
  // At the begin of its session.
  await until(() => woken === 1, 'it listens');
});
afterEach(() => listener.stop());

const listening = async (): Promise<number[]> => {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'",
  );
  return rows.map(({ pid }) => pid);
};

it('wakes when another session has committed what is to be projected', async () => {
  const [{ accountId }] = await makeOwners(pool, 1);
  await until(() => woken > 1, 'the new account and its key are announced');
  const before = woken;
  await creditAccount(pool, { accountId, amountNusd: 5n, kind: 'top_up', reference: randomUUID() });
  await until(() => woken === before + 1, 'the credit is announced');
});

it('is not woken by a booking, whose result the settler projects by itself', async () => {
  const [owner] = await makeOwners(pool, 1);
  const { accountId, keyId } = owner;
  await creditAccount(pool, { accountId, amountNusd: 500n, kind: 'top_up', reference: randomUUID() });
  await pool.query('update accounts set projected_version = version where id = $1', [accountId]);
  await pool.query('update api_keys set projected_generation = generation where id = $1', [keyId]);
  const heard: string[] = [];
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  session.on('notification', ({ payload }) => heard.push(payload ?? ''));
  await session.query('listen sotto_projection');
  const settlement = { ...settledChat, id: randomUUID(), chargeNusd: '100', at: Date.now() };
  expect((await bookSettlements(pool, [{ settlement, owner }])).booked).toBe(1);
  await pool.query("select pg_notify('sotto_projection', 'the end')");
  await until(() => heard.includes('the end'), 'the end is heard');
  expect(heard).toEqual(['the end']);
  await session.end();
});

it('replaces a session that ends, and wakes for what it may have missed', async () => {
  const [pid] = await listening();
  await pool.query('select pg_terminate_backend($1)', [pid]);
  await until(() => woken === 2, 'it listens again');
  expect(await listening()).not.toContain(pid);
  expect(failures).toBe(0);
});

it('leaves no session behind', async () => {
  await listener.stop();
  await until(async () => (await listening()).length === 0, 'the session is gone');
});
