import { type OwnRedis, withRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectSettled } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import {
  expectCivil,
  expectFair,
  type Load,
  readinessOf,
  type Sent,
  startLoad,
  untilReadiness,
  untilServed,
} from '../../kit/load.ts';
import { peopleOf } from '../../kit/people.ts';
import { lapseLeases } from '../../kit/redis-holds.ts';
import { post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

const requests = 200;
const credited = 1_000_000_000_000n;

let redis: OwnRedis | undefined;
let stage: OwnStage;
let sentSoFar: Sent[] = [];
let begunSoFar = 0;

beforeAll(async () => {
  const set = await startOwnStage('what kills Redis, Postgres and the two processes', { toBeKilled: true });
  if (set === undefined) return;
  stage = set;
  redis = set.redis;
});
afterAll(async () => {
  await stage?.stop();
});

/** Kills a process during 200 requests, restarts it, and checks the result of every request. */
async function inTheMiddle(
  disturb: (load: Load) => Promise<void>,
  judged: { readonly brokerDied?: boolean } = {},
): Promise<readonly Sent[]> {
  const load = startLoad(stage, { first: begunSoFar });
  try {
    await load.reach(requests / 2);
    await disturb(load);
    await untilServed(load);
    await load.reach(requests);
  } finally {
    await load.stop();
    begunSoFar += load.begun;
    sentSoFar = [...sentSoFar, ...load.sent];
  }
  expectCivil(load.sent);
  await expectFair(stage, sentSoFar, judged);
  await expectSettled(stage.service, stage.account, credited);
  for (const plane of ['control', 'broker'] as const) expect(await readinessOf(stage.service, plane)).toBe('ready');
  expect(load.sent.filter(({ called }) => called.complete).length).toBeGreaterThan(requests / 2);
  return load.sent;
}

it('Postgres is killed: answers go on and are booked later; control is not ready, and rejects no valid caller as unknown', async (context) => {
  if (redis?.pid === undefined) return context.skip('no Redis');
  const { service, account, postgres } = stage;
  const { email, password, session } = await peopleOf(stage).signUp();
  const sent = await inTheMiddle(async (load) => {
    // Kills Postgres during a booking, which waits for a lock of this test. The pool has already given out a connection
    // that is in a transaction. An error on it once ended the process.
    const lock = await service.pool.connect();
    lock.on('error', () => {});
    await lock.query('begin');
    await lock.query('lock table settlements in access exclusive mode');
    await until(async () => {
      const waiting = await service.pool.query(
        "select 1 from pg_locks where not granted and relation = 'settlements'::regclass",
      );
      return waiting.rowCount !== 0;
    }, 'a booking waits');
    await postgres.kill9();
    lock.release(true);
    await untilReadiness(service, 'control', 'not ready');
    expect(await readinessOf(service, 'broker')).toBe('ready');
    const asked = await Promise.all([
      fetch(`${service.controlUrl}/balance`, { headers: bearer(account.managementKey) }),
      fetch(`${service.controlUrl}/usage`, { headers: bearer(account.managementKey) }),
      fetch(`${service.controlUrl}/models`, { headers: bearer(account.inferenceKey) }),
      fetch(`${service.controlUrl}/keys`, { headers: session }),
      fetch(`${service.controlUrl}/auth/get-session`, { headers: session }),
      post(`${service.controlUrl}/auth/sign-in/email`, { email, password }),
    ]);
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 503));
    expect(asked.map(({ headers }) => headers.get('retry-after'))).toEqual(asked.map(() => '1'));
    expect((await fetch(`${service.controlUrl}/catalog/models`)).status).toBe(200);
    await load.reach(load.begun + 30);
    await postgres.restart();
    await untilReadiness(service, 'control', 'ready');
  });
  // The broker does not need Postgres.
  const compat = sent.filter(({ flow, called }) => flow === 'compatibility' && !called.complete);
  expect(compat.map(({ called }) => called.status)).toEqual([]);
  // The session survives the outage, too.
  expect((await fetch(`${service.controlUrl}/keys`, { headers: session })).status).toBe(200);
});

it('Redis is killed: money and tickets fail closed, and complete answers are charged when it is back', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { service } = stage;
  const sent = await inTheMiddle(async (load) => {
    await redis?.kill9();
    await untilReadiness(service, 'control', 'not ready');
    await untilReadiness(service, 'broker', 'not ready');
    await load.reach(load.begun + 30);
    await redis?.restart();
    await untilReadiness(service, 'control', 'ready');
    await untilReadiness(service, 'broker', 'ready');
  });
  // Every running request finished.
  const cut = sent.filter(({ called }) => called.status === 200 && !called.complete);
  expect(cut.map(({ index }) => index)).toEqual([]);
  expect(sent.filter(({ called }) => called.status === 503).length).toBeGreaterThan(20);
});

it('control is killed: the broker goes on, and its settlements are booked when control is back', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { service } = stage;
  const sent = await inTheMiddle(async (load) => {
    await service.control.kill9();
    expect(await readinessOf(service, 'control')).toBe('no answer');
    await load.reach(load.begun + 50);
    expect(await readinessOf(service, 'broker')).toBe('ready');
    await service.control.restart();
  });
  const compat = sent.filter(({ flow, called }) => flow === 'compatibility' && !called.complete);
  expect(compat.map(({ called }) => called.status)).toEqual([]);
});

it('the broker is killed: truncated answers are free, complete ones are charged, and its holds are reaped', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { service } = stage;
  const { url } = redis;
  await inTheMiddle(
    async (load) => {
      await service.broker.kill9();
      // Expires all leases. Only the dead broker has holds.
      expect(await withRedis(url, lapseLeases)).toBeGreaterThan(2);
      expect(await readinessOf(service, 'broker')).toBe('no answer');
      expect(await readinessOf(service, 'control')).toBe('ready');
      await load.reach(load.begun + 20);
      await service.broker.restart();
    },
    { brokerDied: true },
  );
});
