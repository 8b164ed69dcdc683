import { createRedisState, shards } from '@sotto/state';
import { until } from '@sotto/test-servers';
import { expect, test } from 'vitest';
import { beginEpoch, eventually, keyProjection, outcome, putKeyIn, untilReachable } from '../fixtures.ts';
import { readShard } from '../read-shard.ts';
import { byTicket, commandTimeoutMs, generation, prefix, shard, slackMs, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { answers, everyCall, held, redeem, settle } = redis;

test('scripts that Redis has forgotten are brought again', async () => {
  expect(await redeem()).toMatchObject({ result: 'admitted' });
  await redis.raw.script('FLUSH');
  const others = ['a', 'b', 'c'].map((holdId) => redeem({ holdId }));
  expect(await Promise.all(others)).toMatchObject([{}, {}, {}].map(() => ({ result: 'admitted' })));
  await redis.raw.script('FLUSH');
  await settle(3n);
  expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 30n, unbookedNusd: 3n });
});

test('a Redis that was killed comes back with everything, and the connection by itself', async () => {
  await redeem({ right: byTicket });
  await redeem({ holdId: 'settled' });
  const settled = await settle(4n, 'settled');
  await redis.state.cancel(shard, 'cancelled');
  const before = await readShard(redis.raw, prefix);
  await redis.server?.kill9();
  const started = performance.now();
  const outcomes = await Promise.all(everyCall().map(outcome));
  expect(outcomes).toEqual(outcomes.map(() => ({ unavailable: true })));
  expect(performance.now() - started).toBeLessThan(commandTimeoutMs + slackMs);

  await redis.server?.restart();
  await eventually(answers);
  expect(await readShard(redis.raw, prefix)).toEqual(before);
  expect(await redis.state.isReady()).toBe(true);
  expect(await redis.state.readSettlements(shard, '0-0', 9)).toMatchObject([{ streamId: settled?.streamId }]);
  expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual({ result: 'invalid_ticket' });
  expect(await redeem({ holdId: 'cancelled' })).toEqual({ result: 'closed' });
  expect(await redeem()).toMatchObject({ result: 'admitted' });
  expect(await held()).toBe(10n);
});

test('what is lost once more while it is projected is not opened', async () => {
  await redis.raw.flushall();
  await beginEpoch(2, redis.state);
  await redis.state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 2 });
  await putKeyIn(redis.state, keyProjection({ shard, keyHash: 'key', walletId }));
  await redis.raw.flushall();
  expect(await outcome(redis.state.openEpoch(shard))).toEqual({ unavailable: true });
  expect(await redis.state.isOpen()).toBe(false);
  expect(await outcome(redis.state.lookupKey('key'))).toEqual({ unavailable: true });
  expect(await outcome(redeem({ holdId: 'other' }))).toEqual({ unavailable: true });
});

test('a Redis that lost everything is unavailable, and calls no key or ticket wrong, until control has projected anew', async () => {
  await redeem();
  await redis.raw.flushall();
  const refusals = () =>
    Promise.all(
      [
        redeem({ right: byTicket }),
        redeem({ holdId: 'other' }),
        redeem({ holdId: 'unknown', right: { kind: 'key', keyHash: 'unknown' } }),
        redis.state.peek({ shard, right: byTicket }),
        redis.state.mint({ shard, ticketHashes: ['t'], walletId, keyHash: 'key', generation, ttlMs: 1000 }),
        settle(4n),
      ].map((call) => outcome<unknown>(call)),
    );
  const all = Array.from({ length: 6 }, () => ({ unavailable: true }));
  expect(await refusals()).toEqual(all);
  expect(await outcome(redis.state.lookupKey('key'))).toEqual({ unavailable: true });
  expect(await redis.state.isReady()).toBe(false);

  await beginEpoch(2, redis.state);
  await redis.state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 2 });
  await putKeyIn(redis.state, keyProjection({ shard, keyHash: 'key', walletId }));
  expect(await refusals()).toEqual(all);

  for (const each of shards) await redis.state.openEpoch(each);
  expect(await settle(4n)).toMatchObject({ epoch: 2 });
  expect(await redeem({ right: byTicket })).toEqual({ result: 'closed' });
  expect(await redeem({ right: byTicket, holdId: 'new' })).toEqual({ result: 'invalid_ticket' });
  expect(await redeem({ holdId: 'other' })).toMatchObject({ result: 'admitted' });
  expect(await held()).toBe(10n);
});

test('a Redis that may lose or evict what it has answered is not ready where that is required, and says why', async () => {
  const problems: string[] = [];
  const strict = createRedisState({
    url: redis.server?.url ?? '',
    commandTimeoutMs,
    onVolatile: (problem) => problems.push(problem),
  });
  try {
    await untilReachable(strict);
    for (const [name, wrong, right] of [
      ['appendfsync', 'everysec', 'always'],
      ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
      ['appendonly', 'no', 'yes'],
    ] as const) {
      await redis.raw.config('SET', 'appendonly', 'yes');
      await redis.raw.config('SET', 'appendfsync', 'always');
      await redis.raw.config('SET', 'maxmemory-policy', 'noeviction');
      await redis.raw.config('SET', name, wrong);
      const other = createRedisState({ url: redis.server?.url ?? '', onVolatile: (problem) => problems.push(problem) });
      await untilReachable(other);
      expect(await other.isReady()).toBe(false);
      expect(problems.at(-1)).toBe(`Redis has \`${name} ${wrong}\`: it takes \`${name} ${right}\``);
      await redis.raw.config('SET', name, right);
      expect(await other.isReady()).toBe(true);
      await other.close();
    }
    expect(await strict.isReady()).toBe(true);
    // A new connection is checked again, because after a failover it may reach another Redis.
    problems.length = 0;
    await redis.raw.config('SET', 'appendonly', 'no');
    await redis.raw.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const isFound = async (): Promise<boolean> => !(await strict.isReady()) && problems.length > 0;
    await until(isFound, 'what has changed is found');
    expect(problems[0]).toBe('Redis has `appendonly no`: it takes `appendonly yes`');
    await redis.raw.config('SET', 'appendonly', 'yes');
    await until(() => strict.isReady(), 'it is ready again');
  } finally {
    await strict.close();
  }
});
