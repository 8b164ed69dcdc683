import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisState, shardOfWallet } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { expect, test } from 'vitest';
import { joinAll, keyProjection, leaseMs, outcome, putKeyIn, redeemOf, untilReachable } from '../fixtures.ts';
import { byKey, byTicket, commandTimeoutMs, prefix, shard, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { book, redeem, settle } = redis;

test('a Redis that is full admits nothing, and still ends what was admitted', async () => {
  for (const holdId of ['settled', 'cancelled']) await redeem({ holdId });
  const gone = createRedisState({ url: redis.server?.url ?? '', commandTimeoutMs });
  await untilReachable(gone);
  await joinAll(gone, 1);
  await joinAll(gone, 1000);
  await gone.redeem(redeemOf({ shard, right: byKey, holdId: 'reaped' }));
  await gone.close();
  await sleep(1010);
  await redeem({ holdId: 'booked' });
  await settle(2n, 'booked');
  await redis.raw.config('SET', 'maxmemory', '1');
  try {
    expect(await outcome(redeem({ right: byTicket }))).toEqual({ unavailable: true });
    // It counts no refusals either, and refuses all the same.
    const refused = await outcome(redeem({ holdId: 'more', amountNusd: 1_000_000n }));
    expect(refused).toMatchObject({ answer: { result: 'insufficient' } });
    await outcome(redis.state.countRefusal({ shard, right: byKey, kind: 'access' }));
    expect(await redis.state.readRefusals(shard, 0)).toMatchObject({ counts: [] });
    expect(await redis.state.peek({ shard, right: byTicket })).toBeDefined();
    expect(await settle(4n, 'settled')).toMatchObject({ streamId: expect.any(String) });
    await redis.state.cancel(shard, 'cancelled');
    expect(await redis.state.reap(shard, 0)).toBe(1);
    expect(await redis.state.join(shard, { declaration: undefined, leaseMs })).toMatchObject({ result: 'joined' });
    await book(998n, 2, ['booked']);
    expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  } finally {
    await redis.raw.config('SET', 'maxmemory', '0');
  }
  expect(await redeem({ right: byTicket })).toMatchObject({ result: 'admitted' });
});

test('a Redis that is full of settlements is emptied by the settler', async () => {
  for (const holdId of ['a', 'b']) {
    await redeem({ holdId });
    await settle(1n, holdId);
    await settle(1n, holdId);
  }
  await book(998n, 2, ['a', 'b']);
  await redis.raw.config('SET', 'maxmemory', '1');
  try {
    const { entries, reader } = await redis.state.takeSettlements(shard, '0-0', 10);
    expect(entries).toHaveLength(4);
    // Simulates a settler that died after booking and before it moved the watermark. No note is left to delete.
    await book(997n, 3, ['a', 'b']);
    await redis.state.forget(shard, ['a']);
    await redis.state.acknowledge(shard, entries.at(-1)?.streamId ?? '', reader);
    expect(await redis.raw.xlen(`${prefix}stream`)).toBe(0);
  } finally {
    await redis.raw.config('SET', 'maxmemory', '0');
  }
  expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ fundsNusd: 997n });
});

const usedBytes = async (): Promise<number> => (await redis.state.readMemory())?.usedBytes ?? expect.fail('no memory');
/** Preferences of some 50,000 characters. */
const largePreferences = {
  ...initialPreferences,
  auto: {
    ...initialPreferences.auto,
    models: { mode: 'except', ids: Array.from({ length: 500 }, (_, index) => `acme/${'long-'.repeat(18)}${index}`) },
  },
} as const;
const keysOfOne = (count: number) =>
  Array.from({ length: count }, (_, index) => keyProjection({ shard, keyHash: `key-${index}`, walletId }));

test('keys share the preferences of their workspace, however large these are', async () => {
  const workspace = { workspaceId: 'large', version: 1 };
  const before = await usedBytes();
  for (const key of keysOfOne(300)) await putKeyIn(redis.state, { ...key, workspace }, largePreferences);
  expect(await redis.state.lookupKey('key-299')).toMatchObject({ record: { preferences: largePreferences } });
  expect((await usedBytes()) - before).toBeLessThan(600_000);
});

test('the earlier secrets of a key that is rotated again and again leave nothing for good', async () => {
  const secretOf = (rotation: number): string => `rotated-${rotation}`;
  for (let rotation = 1; rotation <= 5; rotation += 1) {
    const secrets = [{ secretHash: secretOf(rotation), endsAt: undefined }];
    await putKeyIn(
      redis.state,
      keyProjection({ shard, keyHash: 'key-0', walletId, generation: rotation + 1, secrets }),
    );
  }
  const indexed = (await redis.raw.keys('*index:*')).filter((name) => name.includes('rotated-'));
  expect(indexed).toHaveLength(5);
  const lasting: string[] = [];
  for (const name of indexed) if ((await redis.raw.pttl(name)) === -1) lasting.push(name);
  expect(lasting.map((name) => name.slice(name.indexOf('rotated-')))).toEqual([secretOf(5)]);
  expect(await redis.state.lookupKey(secretOf(5))).toBeDefined();
});

test('a Redis that is full still takes the revocation of a key, which frees memory at once', async () => {
  const workspace = { workspaceId: 'large', version: 1 };
  const keys = keysOfOne(300).map((key) => ({ ...key, workspace }));
  for (const key of keys) await putKeyIn(redis.state, key, largePreferences);
  const budget = { shard, budgetId: 'workspace:large', version: 1 };
  await redis.state.putBudget({ ...budget, limitNusd: 1n, keptSince: '2020-01', spent: [] });
  await redeem({ holdId: 'held', right: { kind: 'key', keyHash: 'key-0' } });
  await redis.raw.config('SET', 'maxmemory', '1');
  try {
    expect(await outcome(redis.state.putKey(keyProjection({ shard, keyHash: 'new', walletId })))).toEqual({
      unavailable: true,
    });
    const before = await usedBytes();
    for (const { keyHash, generation } of keys) {
      await redis.state.removeKey({ shard, keyHash, generation: generation + 1, isNews: true });
    }
    await redis.state.removeKey({ shard, keyHash: 'never projected', generation: 1, isNews: true });
    await redis.state.removeBudget({ ...budget, version: 2, isNews: true });
    expect(before - (await usedBytes())).toBeGreaterThan(150_000);
    expect(await redis.state.lookupKey('key-1')).toBeUndefined();
    expect(await outcome(redeem({ right: { kind: 'key', keyHash: 'key-1' } }))).toEqual({
      answer: { result: 'unknown_key' },
    });
    await settle(1n, 'held');
    // Nothing of the keys stays for good, except where a charge still counts in one.
    const names = await redis.raw.keys('*');
    const lasting: string[] = [];
    for (const name of names)
      if ((await redis.raw.pttl(name)) === -1 && /key-\d|large|never/.test(name)) lasting.push(name);
    expect(lasting).toEqual([`${prefix}key:key-0`]);
    await book(999n, 2, ['held']);
    expect(await redis.raw.pttl(`${prefix}key:key-0`)).toBeGreaterThan(0);
  } finally {
    await redis.raw.config('SET', 'maxmemory', '0');
  }
});

test('nothing that comes with requests stays for ever', async () => {
  await redeem({ right: byTicket });
  await settle(4n);
  await redeem({ holdId: 'released' });
  await settle(0n, 'released');
  await redis.state.cancel(shard, 'cancelled');
  await settle(1n, 'never redeemed');
  await book(996n, 2, ['hold']);
  const { entries, reader } = await redis.state.takeSettlements(shard, '0-0', 10);
  await redis.state.acknowledge(shard, entries.at(-1)?.streamId ?? '', reader);
  await redis.state.shareMeasurements({ hour: 1, source: 'one', records: new Map([['a', '1;1;;;;']]) });
  await redis.state.updatePenalty('route:a', () => ({ kind: 'timeout', strikes: 1, lastStrikeAt: 1, expiresAt: 2 }));
  const lasting: string[] = [];
  for (const key of await redis.raw.keys('*')) if ((await redis.raw.pttl(key)) === -1) lasting.push(key);
  // One of each for a wallet, a key, a workspace and a shard.
  expect(lasting.filter((key) => !/:(epoch|clients)$/.test(key)).sort()).toEqual(
    [
      `${prefix}key:key`,
      `${prefix}stream`,
      `${prefix}wallet:${walletId}`,
      `${prefix}watermark`,
      `${prefix}workspace:workspace`,
      `sotto:{w${shardOfWallet('key')}}:index:key`,
    ].sort(),
  );
  expect(await redis.raw.xlen(`${prefix}stream`)).toBe(0);
});
