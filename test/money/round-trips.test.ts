import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stage, setStage } from '../faults/chaos/load.ts';
import { ask, type Flow } from '../kit/call.ts';
import type { TestRedis } from '../kit/redis.ts';
import { monitorRedis } from '../kit/redis-monitor.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { usageOf } from './world.ts';

const requests = 300;
const monitorLagMs = 300;

let redis: TestRedis | undefined;
let stage: Stage;

beforeAll(async () => {
  const set = await setStage('the round trips of the hot path');
  if (set === undefined) return;
  stage = set;
  redis = set.redis;
});
afterAll(async () => {
  await stage?.stop();
});

/** Commands by who sends them and what they are, while something runs; a script is named by its digest. */
async function commandsOf(url: string, run: () => Promise<void>): Promise<Map<string, Map<string, number>>> {
  const counts = new Map<string, Map<string, number>>();
  const monitor = await monitorRedis(url, ({ source, words: [command = '', digest = ''] }) => {
    // What a script calls is not sent by anybody.
    if (source === 'lua') return;
    const bySource = counts.get(source) ?? new Map<string, number>();
    counts.set(source, bySource);
    const kind = command.toLowerCase() === 'evalsha' ? `script ${digest}` : command.toLowerCase();
    bySource.set(kind, (bySource.get(kind) ?? 0) + 1);
  });
  try {
    await run();
    // The last of it is still on its way to the monitor.
    await new Promise((resolve) => setTimeout(resolve, monitorLagMs));
    return counts;
  } finally {
    monitor.close();
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
  // Without what each connection sends in that time anyway: leases, penalties, the catalog, settlements looked for.
  const grown = [...counts].map(([source, kinds]) =>
    [...kinds].map(([kind, count]) => ({ kind, count: count - (idle.get(source)?.get(kind) ?? 0) })),
  );
  // One or the other may be sent again on a busy machine, here or in the idle time: a reply that came too late is in doubt.
  const isEach = (count: number): boolean => count > requests * 0.97 && count < requests * 1.1;
  // The broker alone runs two scripts for each request.
  const isEachScript = ({ kind, count }: (typeof grown)[number][number]) => kind.startsWith('script') && isEach(count);
  const brokers = grown.filter((kinds) => kinds.filter(isEachScript).length > 1);
  expect(brokers).toHaveLength(1);
  const [redeemed = 0, settled = 0, ...others] = (brokers[0] ?? [])
    .map(({ count }) => count)
    .filter((count) => count > requests / 2)
    .sort((x, y) => y - x);
  expect([redeemed, settled].filter(isEach)).toHaveLength(2);
  expect(others).toEqual([]);
});
