import type { OwnRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { expectSettled, usageOf } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import {
  expectCivil,
  expectFair,
  readinessOf,
  type Sent,
  startLoad,
  untilReadiness,
  untilServed,
} from '../../kit/load.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

const credited = 1_000_000_000_000n;
const pauseMs = 4000;

let redis: OwnRedis | undefined;
let stage: OwnStage;
let sentSoFar: Sent[] = [];
let begunSoFar = 0;

beforeAll(async () => {
  const set = await startOwnStage('what has Redis hang or lose everything', { toBeKilled: true });
  if (set === undefined) return;
  stage = set;
  redis = set.redis;
});
afterAll(async () => {
  await stage?.stop();
});

async function judged(sent: readonly Sent[]): Promise<void> {
  sentSoFar = [...sentSoFar, ...sent];
  expectCivil(sent);
  await expectFair(stage, sentSoFar);
  await expectSettled(stage.service, stage.account, credited);
  for (const plane of ['control', 'broker'] as const) await untilReadiness(stage.service, plane, 'ready');
}

/** Returns the answer of a plane. A plane that waited for Redis would not answer while Redis hangs. */
async function answerOf(url: string, headers: Readonly<Record<string, string>> = {}) {
  const answer = await fetch(url, { headers });
  await answer.body?.cancel();
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') };
}

/** Sends a request that uses a ticket, with its own content. */
function redeem(ticket: string, index: number): Promise<Answer> {
  const act = { kind: 'answer', usage: usageOf(7, index) } as const;
  return post(
    `${stage.service.baseUrl}/chat/completions`,
    {
      model: 'm/one',
      messages: [{ role: 'user', content: scripted({ alpha: act }, `ticket ${index}`) }],
      max_completion_tokens: 100,
    },
    { 'x-router-ticket': ticket },
  );
}

it('Redis hangs: requests fail fast with 503, public reads go on, and the service recovers by itself', async (context) => {
  if (redis?.pid === undefined) return context.skip('no Redis');
  const { service, account } = stage;
  const minted = await Promise.all(
    Array.from({ length: 5 }, () => service.mintTicket(account.inferenceKey, { model: 'm/one' })),
  );
  const tickets = minted.map(({ ticket }) => ticket);
  const load = startLoad(stage, { first: begunSoFar });
  try {
    await load.reach(100);
    await redis.pause();
    const from = load.elapsedMs;
    // Redis has these redeems in its buffers. It executes them when it continues, long after their callers got a 503.
    const refused = await Promise.all(tickets.map((ticket, index) => redeem(ticket, index + 1)));
    expect(refused.map(({ status }) => status)).toEqual(tickets.map(() => 503));

    const reads = ['/catalog/models', '/capabilities', '/models/uptime?model=m/one', '/models'];
    const headers = bearer(account.inferenceKey);
    while (load.elapsedMs < from + pauseMs) {
      for (const read of reads) {
        expect((await answerOf(`${service.controlUrl}${read}`, headers)).status, read).toBe(200);
      }
      expect((await answerOf(`${service.controlUrl}/catalog/models`)).status).toBe(200);
      for (const plane of ['control', 'broker'] as const) {
        expect(await readinessOf(service, plane)).not.toBe('ready');
      }
      for (const url of [`${service.controlUrl}/balance`, `${service.baseUrl}/models`]) {
        const key = url.endsWith('balance') ? account.managementKey : account.inferenceKey;
        expect(await answerOf(url, bearer(key)), url).toEqual({ status: 503, retryAfter: '1' });
      }
    }
    const { begun } = load;
    await until(() => load.sent.length >= begun, 'all are answered while Redis hangs');
    const to = load.elapsedMs;
    const meanwhile = load.sent.filter(({ startedAt, endedAt }) => startedAt > from && endedAt < to);
    expect(meanwhile.length).toBeGreaterThan(50);
    expect(meanwhile.filter(({ called }) => called.status !== 503).map(({ index }) => index)).toEqual([]);

    await redis.resume();
    await untilReadiness(service, 'control', 'ready');
    await untilReadiness(service, 'broker', 'ready');
    await untilServed(load);
  } finally {
    await redis.resume();
    await load.stop();
    begunSoFar += load.begun;
  }
  const cut = load.sent.filter(({ called }) => called.status === 200 && !called.complete);
  expect(cut.map(({ index }) => index)).toEqual([]);
  // No hold is left: the broker has undone the late redeems.
  await judged(load.sent);
  // A redeem is all or nothing: a caller that got a 503 still has the ticket. The broker's `cancel` gives the ticket
  // back. Without it, the late redeem used the ticket up and its owner got 401.
  const again = await Promise.all(tickets.map((ticket, index) => redeem(ticket, index + 1)));
  expect(again.map(({ status, text }) => [status, status === 200 ? '' : text])).toEqual(tickets.map(() => [200, '']));
  const third = await redeem(tickets[0] ?? '', 1);
  expect([third.status, third.error?.type]).toEqual([401, 'invalid_ticket']);
});

// Redis loses settlements that it accepted and control has not booked. The broker still has them. It once forgot them,
// because it trusted a watermark beyond their place in a stream that had begun anew.
it('Redis loses everything: control projects it anew within seconds, and no charge is lost', async (context) => {
  if (redis?.pid === undefined) return context.skip('no Redis');
  const { service } = stage;
  const load = startLoad(stage, { first: begunSoFar });
  try {
    await load.reach(60);
    // Stops control for a moment, so that some settlements are not booked when Redis loses its data.
    process.kill(service.control.pid, 'SIGSTOP');
    const served = load.sent.filter(({ called }) => called.complete).length;
    await until(
      () => load.sent.filter(({ called }) => called.complete).length > served + 15,
      'there is something to lose',
    );
    await redis.flush();
    process.kill(service.control.pid, 'SIGCONT');
    const flushedAt = load.elapsedMs;
    await untilReadiness(service, 'control', 'ready');
    await untilReadiness(service, 'broker', 'ready');
    await untilServed(load);
    // An idle machine needs less than five. This limit still separates recovery from a failure that needs an operator.
    expect(load.elapsedMs - flushedAt).toBeLessThan(12_000);
    // A second loss, while control runs.
    await redis.flush();
    await untilServed(load);
    await load.reach(200);
  } finally {
    process.kill(service.control.pid, 'SIGCONT');
    await load.stop();
    begunSoFar += load.begun;
  }
  await judged(load.sent);
});

it('Postgres is down when control starts: it waits, is not ready, and comes up by itself', async (context) => {
  if (redis?.pid === undefined) return context.skip('no Redis');
  const { service, account, postgres } = stage;
  const load = startLoad(stage, { first: begunSoFar, flows: ['compatibility'] });
  try {
    await load.reach(20);
    await service.control.kill9();
    await postgres.kill9();
    const restarted = service.control.restart();
    await untilReadiness(service, 'control', 'not ready');
    expect((await fetch(`${service.controlUrl}/capabilities`)).status).toBe(200);
    await until(
      async () => (await fetch(`${service.controlUrl}/catalog/models`)).status === 200,
      'the catalog is read',
    );
    const asked = await Promise.all([
      fetch(`${service.controlUrl}/balance`, { headers: bearer(account.managementKey) }),
      fetch(`${service.controlUrl}/models`, { headers: bearer(account.inferenceKey) }),
    ]);
    expect(asked.map(({ status }) => status)).toEqual([503, 503]);
    await load.reach(load.begun + 30);
    expect(await readinessOf(service, 'control')).toBe('not ready');
    expect(await readinessOf(service, 'broker')).toBe('ready');
    await postgres.restart();
    await restarted;
    await load.reach(load.begun + 20);
  } finally {
    await load.stop();
    begunSoFar += load.begun;
  }
  expect(load.sent.filter(({ called }) => !called.complete).map(({ called }) => called.status)).toEqual([]);
  await judged(load.sent);
});
