import { createRedisState, StateUnavailableError, shardOfWallet, shards } from '@sotto/state';
import { expect, onTestFinished, test } from 'vitest';
import { keyProjection, outcome, projectorTo, putKeyIn, untilReachable, walletIds } from '../fixtures.ts';
import { prefix, shard, useRedisToBreak } from './stage.ts';

const redis = useRedisToBreak();
const { held, redeem, settle } = redis;

test('a record that is damaged fails its own requests only', async () => {
  await redis.state.putWallet({ shard, walletId: 'damaged', balanceNusd: 1n, version: 1 });
  await putKeyIn(redis.state, keyProjection({ shard, keyHash: 'damaged', walletId: 'damaged' }));
  await redis.raw.set(`${prefix}wallet:damaged`, 'not a hash');
  await redis.raw.hset(`${prefix}key:damaged`, 'rec', '{"prompt":"secret');
  for (let count = 0; count < 30; count += 1) {
    const right = { kind: 'key', keyHash: 'damaged' } as const;
    const failure = redeem({ holdId: `damaged-${count}`, walletId: 'damaged', right });
    await expect(failure).rejects.toThrow(new StateUnavailableError('ReplyError WRONGTYPE'));
  }
  await expect(redis.state.lookupKey('damaged')).rejects.toThrow(new StateUnavailableError('unreadable key record'));
  await redis.raw.hset('sotto:catalog', 'version', 5, 'snapshot', '{"secret');
  await expect(redis.state.readCatalog(1)).rejects.toThrow(new StateUnavailableError('unreadable catalog'));
  await redis.raw.set('sotto:registry', 'secret');
  await expect(redis.state.readRegistry()).rejects.toThrow(new StateUnavailableError('unreadable registry'));
  await redis.raw.hset('sotto:penalties', 'route:a', 'secret');
  expect(await redis.state.readPenalties()).toEqual(new Map());
  expect(await redeem()).toMatchObject({ result: 'admitted' });
});

test.each(['wallet:wallet-0', 'key:key-0'])('a damaged %s keeps back only its own shard', async (record) => {
  const lacking = shardOfWallet('wallet-0');
  await redis.raw.set(`sotto:{w${lacking}}:${record}`, 'not a hash');
  const failures = await projectorTo(redis.state).project(new Set(shards));
  expect([...failures]).toEqual([[lacking, new StateUnavailableError('ReplyError WRONGTYPE')]]);
  for (const [at, id] of walletIds.entries()) {
    if (shardOfWallet(id) === lacking) continue;
    expect(await redis.state.readWallet(shardOfWallet(id), id)).toMatchObject({ fundsNusd: 1000n });
    expect(await redis.state.lookupKey(`key-${at}`)).toMatchObject({ shard: shardOfWallet(id) });
  }
});

test('a process that leaves releases its holds, though the record of one wallet is damaged', async () => {
  await Promise.all(['before', 'damaged', 'after'].map((holdId) => redeem({ holdId })));
  const { client } = redis.state.membership.caller(shard);
  await redis.raw.hset(`${prefix}holds`, 'damaged', `${client} 10 0 0 not-a-wallet key - 2026-01 `);
  await redis.raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
  expect(await outcome(redis.state.leave(shard))).toEqual({ unavailable: true });
  // The damaged hold no longer names the wallet, so its own amount stays there.
  expect(await held()).toBe(10n);
  expect(await redis.raw.hlen(`${prefix}holds`)).toBe(0);
});

test('an id that is none moves no watermark', async () => {
  await redeem();
  await settle(4n);
  const { reader } = await redis.state.takeSettlements(shard, '0-0', 10);
  await expect(redis.state.acknowledge(shard, 'no id', reader)).rejects.toThrow(StateUnavailableError);
  expect(await redis.raw.get(`${prefix}watermark`)).not.toBe('no id');
});

test.each(['clients', 'epoch'])(
  'a shard whose %s are damaged keeps no other from renewing its leases',
  async (record) => {
    await redis.raw.set(`${prefix}${record}`, 'not a hash');
    const renewal = { declaration: 'renewal', leaseMs: 10_000 } as const;
    const renewed = await Promise.all(shards.map((at) => outcome(redis.state.join(at, renewal))));
    for (const [at, found] of renewed.entries()) {
      if (shards[at] === shard) expect(found).toEqual({ unavailable: true });
      else expect(found, `shard ${shards[at]}`).toMatchObject({ answer: { result: 'joined' } });
    }
    const reaped = await Promise.all(shards.map((at) => outcome(redis.state.reap(at, 0))));
    expect(reaped.filter((found) => 'answer' in found)).toHaveLength(shards.length - 1);
  },
);

test('a declaration that cannot be stored makes its sender no member', async () => {
  const stranger = createRedisState({ url: redis.server?.url ?? '' });
  onTestFinished(() => stranger.close());
  await untilReachable(stranger);
  await redis.raw.set(`${prefix}declared`, 'not a hash');
  const declaration = { payload: 'holds', mac: 'mac' };
  for (let times = 0; times < 3; times += 1) {
    expect(await outcome(stranger.join(shard, { declaration, leaseMs: 10_000 }))).toEqual({ unavailable: true });
  }
  await redis.raw.del(`${prefix}declared`);
  expect(await stranger.join(shard, { declaration, leaseMs: 10_000 })).toMatchObject({ result: 'declared' });
});
