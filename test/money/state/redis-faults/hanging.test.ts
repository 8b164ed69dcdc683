import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { StateUnavailableError } from '@sotto/state';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, outcome } from '../fixtures.ts';
import { byTicket, commandTimeoutMs, prefix, shard, slackMs, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { answers, everyCall, held, redeem, settle, throughProxy } = redis;

test('an answer that came while this process was blocked is not late', async () => {
  const asked = [redis.state.readRegistry(), redis.state.lookupKey('none'), redis.state.readPenalties()];
  // The commands leave at the end of this turn.
  await turn();
  await turn();
  // Stops this process, as parsing large bodies does. Redis goes on.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * commandTimeoutMs);
  await expect(Promise.all(asked)).resolves.toHaveLength(3);
});

describe('a Redis that hangs', () => {
  beforeEach(() => redis.server?.pause());
  afterEach(() => redis.server?.resume());

  test('fails every call within its deadline, then at once, and is used again by itself when it goes on', async () => {
    const started = performance.now();
    const outcomes = await Promise.all(everyCall().map(outcome));
    expect(performance.now() - started).toBeLessThan(commandTimeoutMs + slackMs);
    expect(outcomes).toEqual(outcomes.map(() => ({ unavailable: true })));

    // While Redis hangs, one call at a time tries. The others fail in the same turn, without waiting.
    for (const until = performance.now() + 2000; performance.now() < until; await sleep(20)) {
      let failed = 0;
      const calls = Array.from({ length: 10 }, async () => {
        expect(await outcome(redeem({ holdId: 'late' }))).toEqual({ unavailable: true });
        failed += 1;
      });
      await turn();
      expect(failed).toBeGreaterThanOrEqual(9);
      await Promise.all(calls);
    }
    expect(await redis.state.isReady()).toBe(false);

    await redis.server?.resume();
    await eventually(answers);
    expect(await redis.state.isReady()).toBe(true);
    await redis.state.cancel(shard, 'late');
    expect(await redeem({ holdId: 'next' })).toMatchObject({ result: 'admitted' });
  });

  test('may carry out a redeem long after its caller gave up: the cancel undoes it, whichever comes first', async () => {
    expect(await outcome(redeem({ right: byTicket, holdId: 'doubtful' }))).toEqual({ unavailable: true });
    const cancelled = outcome(redis.state.cancel(shard, 'doubtful'));
    await redis.server?.resume();
    await cancelled;
    await eventually(async () => 'answer' in (await outcome(redis.state.cancel(shard, 'doubtful'))));
    await sleep(50);
    expect(await held()).toBe(0n);
    expect(await redeem({ right: byTicket, holdId: 'doubtful' })).toEqual({ result: 'closed' });
  });
});

// An answer leaves when its settlement is with the kernel. So the broker may end before Redis reads it.
test('a settlement that was sent counts once, though its broker ends before Redis reads it', async () => {
  await redeem();
  await redis.server?.pause();
  const settled = outcome(settle(4n));
  await redis.state.sent?.();
  await redis.state.close();
  expect(await settled).toEqual({ unavailable: true });
  await expect(redis.state.sent?.()).rejects.toThrow(StateUnavailableError);
  await redis.server?.resume();
  await eventually(async () => (await redis.raw.hget(`${prefix}wallet:${walletId}`, 'unbooked')) === '4');
  expect(await redis.raw.hget(`${prefix}wallet:${walletId}`, 'held')).toBe('0');
  expect(await redis.raw.xlen(`${prefix}stream`)).toBe(1);
});

test('a connection that has gone silent is given up for a new one', async () => {
  const { silence } = await throughProxy();
  silence();
  expect(await outcome(redeem())).toEqual({ unavailable: true });
  await eventually(answers);
  expect(redis.proxy?.connections).toBeGreaterThan(1);
});
