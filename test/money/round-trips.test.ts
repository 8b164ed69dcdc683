import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stage, setStage } from '../chaos/load.ts';
import { ask, type Flow } from '../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { noteSkip } from '../kit/skips.ts';
import { usageOf } from './world.ts';

const requests = 300;

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let stage: Stage;

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('the round trips of the hot path', redisSkipReason);
  postgres = await startTestPostgres();
  stage = await setStage({ databaseUrl: await postgres.createDatabase(), redisUrl: redis.url });
});
afterAll(async () => {
  await stage?.stop();
  await redis?.stop();
  await postgres?.stop();
});

/** Commands by who sends them and what they are, while something runs; a script is named by its digest. */
async function commandsOf(url: string, run: () => Promise<void>): Promise<Map<string, Map<string, number>>> {
  const connection = new Redis(url);
  const monitor = await connection.monitor();
  const counts = new Map<string, Map<string, number>>();
  monitor.on('monitor', (_: string, [command = '', digest = '']: string[], source: string) => {
    // What a script calls is not sent by anybody.
    if (source === 'lua') return;
    const bySource = counts.get(source) ?? new Map<string, number>();
    counts.set(source, bySource);
    const kind = command.toLowerCase() === 'evalsha' ? `script ${digest}` : command.toLowerCase();
    bySource.set(kind, (bySource.get(kind) ?? 0) + 1);
  });
  try {
    await run();
    return counts;
  } finally {
    monitor.disconnect();
    connection.disconnect();
  }
}

async function send(flow: Flow, from: number): Promise<void> {
  const one = async (index: number): Promise<void> => {
    const stream = index % 2 === 0;
    const content = scripted({ alpha: { kind: 'answer', usage: usageOf(7, 100) } }, String(index));
    const body = { model: 'm/one', stream, messages: [{ role: 'user', content }] };
    const called = await ask(stage.service, stage.account.inferenceKey, flow, body, {});
    expect(called.status).toBe(200);
  };
  for (let index = from; index < from + requests; index += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, at) => one(index + at)));
  }
}

// Design 4 and 7: one round trip before the first attempt, one after it, and nothing else that grows with requests.
it.each(['compat', 'ticket'] as const)('a request costs the broker two round trips to Redis (%s)', async (flow) => {
  if (redis === undefined) return;
  // What is sent once, such as a script's source or a key's record, has been.
  await send(flow, 0);
  const startedAt = performance.now();
  const counts = await commandsOf(redis.url, () => send(flow, requests));
  const elapsedMs = performance.now() - startedAt;
  const idle = await commandsOf(redis.url, () => new Promise((resolve) => setTimeout(resolve, elapsedMs)));
  // One or the other may be sent again on a busy machine: a reply that came too late is in doubt.
  const isEach = (count: number): boolean => count >= requests && count < requests * 1.1;
  const brokers = [...counts.values()].filter((kinds) => [...kinds.values()].filter(isEach).length > 1);
  expect(brokers).toHaveLength(1);
  // Beside them there is only what goes on without requests: leases, penalties, the catalog.
  const withoutRequests = Math.max(...[...idle.values()].flatMap((kinds) => [...kinds.values()]));
  const [redeemed = 0, settled = 0, ...others] = [...(brokers[0]?.values() ?? [])]
    .filter((count) => isEach(count) || count > withoutRequests + requests / 2)
    .sort((a, b) => b - a);
  expect([redeemed, settled].filter(isEach)).toHaveLength(2);
  expect(others).toEqual([]);
});
