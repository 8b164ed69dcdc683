import { randomUUID } from 'node:crypto';
import { startTestPostgres, until } from '@sotto/test-servers';
import pg from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
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

/** Resolves when a new listener has woken its owner at the begin of its session. It hears nothing that was committed before. */
async function startListener() {
  const heard = { woken: 0, failures: 0 };
  const task = listen(url, 'sotto_projection', {
    wake: () => {
      heard.woken += 1;
    },
    failed: () => {
      heard.failures += 1;
    },
  });
  task.start();
  onTestFinished(task.stop);
  await until(() => heard.woken > 0, 'it wakes at the begin of its session');
  return { heard, stop: task.stop };
}

const listening = async (): Promise<number[]> => {
  const { rows } = await pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and query like 'listen %'",
  );
  return rows.map(({ pid }) => pid);
};

it('wakes when another session has committed what is to be projected', async () => {
  const [{ accountId }] = await makeOwners(pool, 1);
  const { heard } = await startListener();
  await creditAccount(pool, { accountId, amountNusd: 5n, kind: 'top_up', reference: randomUUID() });
  await until(() => heard.woken > 1, 'the credit is announced');
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
  const settlement = { ...settledChat, id: randomUUID(), chargeNusd: '100', at: Date.now(), month: '2026-11' };
  expect((await bookSettlements(pool, [{ settlement, owner }])).booked).toBe(1);
  await pool.query("select pg_notify('sotto_projection', 'the end')");
  await until(() => heard.includes('the end'), 'the end is heard');
  expect(heard).toEqual(['the end']);
  await session.end();
});

it('replaces a session that ends, and wakes for what it may have missed', async () => {
  const { heard } = await startListener();
  await until(async () => (await listening()).length === 1, 'the sessions of the tests before are gone');
  const [pid] = await listening();
  await pool.query('select pg_terminate_backend($1)', [pid]);
  await until(() => heard.woken > 1, 'it listens again');
  expect(await listening()).not.toContain(pid);
  expect(heard.failures).toBe(0);
});

it('leaves no session behind', async () => {
  const { stop } = await startListener();
  await stop();
  await until(async () => (await listening()).length === 0, 'the session is gone');
});
