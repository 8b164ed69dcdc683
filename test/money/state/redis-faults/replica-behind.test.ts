import { createRedisState } from '@sotto/state';
import { describe, expect, test } from 'vitest';
import { joinAll, leaseMs, openEpoch, outcome, redeemOf, untilReachable } from '../fixtures.ts';
import { byKey, byTicket, commandTimeoutMs, prefix, shard, useRedisToBreak } from './stage.ts';

const redis = useRedisToBreak();
const { redeem, settle } = redis;

describe('a replica that was behind', () => {
  /** Saves the contents of Redis. The returned function restores them. */
  const dump = async (): Promise<() => Promise<void>> => {
    const names = await redis.raw.keys('*');
    const values = await Promise.all(names.map((name) => redis.raw.dumpBuffer(name)));
    return async () => {
      await redis.raw.flushall();
      for (const [at, name] of names.entries()) await redis.raw.restore(name, 0, values[at] ?? Buffer.alloc(0));
    };
  };

  test('is detected by a process that lost something, and admits nothing more from any process', async () => {
    const other = createRedisState({ url: redis.server?.url ?? '', commandTimeoutMs });
    try {
      await untilReachable(other);
      await joinAll(other);
      const failOver = await dump();
      await redeem();
      await failOver();
      // A process that lost nothing notices within a moment, because every process takes a step each second.
      const asOther = (holdId: string) => other.redeem(redeemOf({ shard, right: byKey, holdId }));
      expect(await asOther('before')).toMatchObject({ result: 'admitted' });
      expect(await outcome(redis.state.join(shard, { declaration: undefined, leaseMs }))).toEqual({
        unavailable: true,
      });
      expect(await outcome(asOther('after'))).toEqual({ unavailable: true });
      expect((await redis.state.readMembers(shard)).epoch).toBeUndefined();
    } finally {
      await other.close();
    }
  });

  test('does not make a used ticket valid again', async () => {
    const failOver = await dump();
    expect(await redeem({ right: byTicket })).toMatchObject({ result: 'admitted' });
    await failOver();
    expect(await outcome(redeem({ right: byTicket, holdId: 'again' }))).toEqual({ unavailable: true });
    await redis.state.beginEpoch(shard, 2);
    await joinAll(redis.state);
    await redis.state.openEpoch(shard);
    expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual({ result: 'invalid_ticket' });
  });

  test('does not take the acknowledgement of a settlement that it lacks', async () => {
    const control = createRedisState({ url: redis.server?.url ?? '', commandTimeoutMs });
    try {
      await untilReachable(control);
      await joinAll(control);
      await redeem();
      const failOver = await dump();
      await settle(4n);
      const { entries, reader } = await control.takeSettlements(shard, '0-0', 10);
      await failOver();
      expect(await outcome(control.acknowledge(shard, entries[0]?.streamId ?? '', reader))).toEqual({
        unavailable: true,
      });
      expect((await redis.state.readMembers(shard)).epoch).toBeUndefined();
    } finally {
      await control.close();
    }
  });

  test('of an older epoch is ended by a process that knows the newer one', async () => {
    const failOver = await dump();
    await redis.raw.flushall();
    await openEpoch(redis.state, 2);
    await failOver();
    expect((await redis.state.readMembers(shard)).epoch).toBe(1);
    expect(await outcome(redeem())).toEqual({ unavailable: true });
    expect((await redis.state.readMembers(shard)).epoch).toBeUndefined();
  });

  test('is noticed though other steps have made up for the number', async () => {
    const failOver = await dump();
    await redeem();
    await failOver();
    const { client } = redis.state.membership.caller(shard);
    // Simulates steps that were under way and whose replies arrived here.
    await redis.raw.hset(`${prefix}clients`, `${client} n`, 0);
    expect(await outcome(redeem({ holdId: 'next' }))).toEqual({ unavailable: true });
  });
});
