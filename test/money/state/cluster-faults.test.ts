import { createRedisState, generationOf, type State, shardOfWallet, shards } from '@sotto/state';
import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis, withRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  keyProjection,
  leaseMs,
  openEpoch,
  outcome,
  projectorTo,
  putKeyIn,
  redeemOf,
  untilReachable,
  walletIds,
} from './fixtures.ts';

let server: OwnRedis | undefined;
let state: State;
beforeAll(async () => {
  const found = await startOwnRedis({ cluster: true });
  // The nodes of a cluster given from outside are unknown to this test.
  server = found?.nodes.length === 3 ? found : undefined;
  if (server === undefined) return noteSkip('the faults of Redis Cluster', redisSkipReason);
  state = createRedisState({ url: server.url });
  await untilReachable(state);
});
afterAll(async () => {
  await state?.close();
  await server?.stop();
});

test('a cluster in which one node lost everything calls no key or ticket wrong', async (context) => {
  if (server === undefined) return context.skip('no Redis Cluster of our own');
  await openEpoch(state);
  const keyHashes = Array.from({ length: 60 }, (_, index) => `key-${index}`);
  const shardOf = (index: number): number => index % shards.length;
  for (const shard of shards) await state.putWallet({ shard, walletId: 'wallet', balanceNusd: 1000n, version: 1 });
  for (const [index, keyHash] of keyHashes.entries()) {
    await putKeyIn(state, keyProjection({ shard: shardOf(index), keyHash, walletId: 'wallet' }));
    const ticket = {
      shard: shardOf(index),
      ticketHashes: [keyHash],
      walletId: 'wallet',
      keyHash,
      generation: generationOf(1, 1),
      ttlMs: 60_000,
    } as const;
    expect(await state.mint(ticket)).toEqual({ result: 'minted' });
  }

  await withRedis(server.nodes[0] ?? '', (node) => node.flushall());

  const said = await Promise.all(
    keyHashes.map(async (keyHash, index) => {
      const [shard, holdId] = [shardOf(index), `hold-${index}`];
      const right = { kind: 'ticket', ticketHash: keyHash } as const;
      return [
        await outcome(state.lookupKey(keyHash)),
        await outcome(state.peek({ shard, right })),
        await outcome(state.redeem(redeemOf({ shard, right, holdId }))),
      ].map((each) => {
        if ('unavailable' in each) return 'unavailable';
        const { answer } = each;
        if (answer === undefined) return 'unknown';
        return 'result' in answer ? answer.result : 'known';
      });
    }),
  );
  expect([...new Set(said.flat())].sort()).toEqual(['admitted', 'known', 'unavailable']);
  expect(await state.isReady()).toBe(false);
});

test('a cluster in which one node lost everything finds every key again after control projected it', async (context) => {
  if (server === undefined) return context.skip('no Redis Cluster of our own');
  await server.flush();
  const control = createRedisState({ url: server.url });
  try {
    await untilReachable(control);
    const projector = projectorTo(control);
    await openEpoch(control);
    await projector.project(new Set(shards));
    await withRedis(server?.nodes[0] ?? '', (node) => node.flushall());
    const lost = new Set<number>();
    for (const shard of shards) if (await control.beginEpoch(shard, 2)) lost.add(shard);
    for (const shard of lost) await outcome(control.join(shard, { declaration: undefined, leaseMs }));
    for (const shard of lost) await control.join(shard, { declaration: undefined, leaseMs });
    await projector.project(lost);
    for (const shard of lost) await control.openEpoch(shard);
    expect(lost.size).toBeGreaterThan(0);
    expect(lost.size).toBeLessThan(shards.length);
    const found = await Promise.all(walletIds.map((_, index) => control.lookupKey(`key-${index}`)));
    expect(found.map((key) => key?.shard)).toEqual(walletIds.map(shardOfWallet));
  } finally {
    await control.close();
  }
});
