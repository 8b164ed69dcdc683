import { createMemoryState, createRedisState, MemoryStore } from '@sotto/state';
import { noteSkip, redisSkipReason, startTestRedis, type TestRedis } from '@sotto/test-servers';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEpoch, untilReachable } from './fixtures.ts';
import { history } from './history.ts';
import { runHistory } from './run-history.ts';

/** Five minutes before a month ends, because histories take longer. */
const startOfTime = Date.parse('2026-12-31T23:55:30Z');
const histories = 300;
/** The histories must have met each of these. Otherwise the test would prove less than it claims. */
const metAtLeastOnce = [
  ...[
    'admitted',
    'closed',
    'invalid_ticket',
    'stale_key',
    'unknown_key',
    'insufficient wallet',
    'insufficient key',
    'insufficient budget',
  ].map((result) => `redeem: ${result}`),
  ...['mint: minted', 'mint: not_projected', 'reap: some', 'settle: true', 'peek: some', 'peek: undefined'],
  ...['reserve: reserved', 'reserve: busy', 'reserve: insufficient', 'forget: undefined'],
  ...['join: joined', 'join: declared', 'join: unavailable', 'admit: true', 'admit: false', 'leave: undefined'],
];

let server: TestRedis | undefined;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server?.stop());

test('Redis and memory answer alike, hold the same and keep the rules about money, whatever happens', async (context) => {
  if (server === undefined) {
    noteSkip('the Redis driver against its oracle', redisSkipReason);
    return context.skip('no Redis');
  }
  const { url } = server;
  const clock = { now: startOfTime };
  const raw = new Redis(url);
  const seen = new Map<string, number>();
  try {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        clock.now = startOfTime;
        await raw.flushdb();
        const store = new MemoryStore(() => clock.now);
        const memory = createMemoryState({ store, newClient: namesInOrder() });
        const redis = createRedisState({ url, clock: () => clock.now, newClient: namesInOrder() });
        try {
          await untilReachable(redis);
          await Promise.all([openEpoch(redis), openEpoch(memory)]);
          await runHistory({ redis, memory, store, raw, clock, seen }, steps);
        } finally {
          await redis.close();
        }
      }),
      { numRuns: histories },
    );
    expect(metAtLeastOnce.filter((reply) => !seen.has(reply))).toEqual([]);
  } finally {
    raw.disconnect();
  }
});

/** Names incarnations alike in both drivers. */
function namesInOrder(): () => string {
  let names = 0;
  return () => {
    names += 1;
    return `client-${names}`;
  };
}
