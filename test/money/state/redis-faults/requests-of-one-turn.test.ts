import { createRedisState, StateUnavailableError } from '@sotto/state';
import { beforeEach, describe, expect, test } from 'vitest';
import { joinAll, keyProjection, outcome, putKeyIn, settlementOf, untilReachable } from '../fixtures.ts';
import { readShard } from '../read-shard.ts';
import { prefix, shard, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { executions, held, redeem, settle } = redis;

test('however much a broker declares at once is carried to Redis', async () => {
  const patient = createRedisState({ url: redis.server?.url ?? '', commandTimeoutMs: 20_000 });
  try {
    await untilReachable(patient);
    await joinAll(patient);
    // As many arguments as tens of thousands of charges need.
    await patient.forget(
      shard,
      Array.from({ length: 250_000 }, (_, index) => `hold-${index}`),
    );
  } finally {
    await patient.close();
  }
});

describe('requests of one turn of the event loop', () => {
  const other = { shard: 6, walletId: 'elsewhere', keyHash: 'elsewhere' };
  const elsewhere = {
    shard: other.shard,
    walletId: other.walletId,
    right: { kind: 'key', keyHash: other.keyHash },
  } as const;
  const unavailable = { unavailable: true };
  const admitted = { answer: expect.objectContaining({ result: 'admitted' }) };
  beforeEach(async () => {
    await redis.state.putWallet({ ...other, balanceNusd: 1000n, version: 1 });
    await putKeyIn(redis.state, keyProjection(other));
  });

  test('travel in calls of at most 64, whatever their shards', async () => {
    const ids = Array.from({ length: 70 }, (_, index) => `hold-${index}`);
    const before = await executions();
    const asked = ids.map((holdId, at) =>
      outcome(redeem({ holdId, amountNusd: 1n, ...(at % 2 === 0 ? {} : elsewhere) })),
    );
    expect(await Promise.all(asked)).toEqual(ids.map(() => admitted));
    const settled = ids.map((holdId, at) =>
      redis.state.settle(settlementOf({ shard: at % 2 === 0 ? shard : other.shard, holdId, chargeNusd: 1n })),
    );
    expect(new Set((await Promise.all(settled)).map((place) => place?.epoch))).toEqual(new Set([1]));
    expect((await executions()) - before).toBe(4);
    for (const each of [{ shard, walletId }, other]) {
      expect(await redis.state.readWallet(each.shard, each.walletId)).toMatchObject({
        heldNusd: 0n,
        unbookedNusd: 35n,
      });
    }
  });

  test('share neither a refusal of a shard nor a damaged record', async () => {
    await redis.state.putWallet({ shard, walletId: 'damaged', balanceNusd: 100n, version: 1 });
    await putKeyIn(redis.state, keyProjection({ shard, keyHash: 'damaged', walletId: 'damaged' }));
    await redis.raw.set(`${prefix}wallet:damaged`, 'not a hash');
    await redis.state.discardEpoch(other.shard, 1);
    const damaged = redeem({ holdId: 'damaged', walletId: 'damaged', right: { kind: 'key', keyHash: 'damaged' } });
    const asked = [redeem({ holdId: 'before' }), damaged, redeem({ holdId: 'lost', ...elsewhere }), redeem()];
    expect(await Promise.all(asked.map(outcome))).toEqual([admitted, unavailable, unavailable, admitted]);
    expect(await held()).toBe(20n);
    expect((await readShard(redis.raw, prefix)).holds.size).toBe(2);
  });

  test('are executed as the member that asked, though the process begins another incarnation before the call', async () => {
    const { client } = redis.state.membership.caller(shard);
    const asked = [outcome(redeem()), outcome(redeem({ holdId: 'elsewhere', ...elsewhere }))];
    const lapse = () =>
      redis.state.membership.take(shard, redis.state.membership.caller(shard), {
        refused: 'lapsed' as const,
        epoch: 1,
      });
    expect(lapse).toThrow(StateUnavailableError);
    // Its own books name the earlier member. So it must not count on the answer, and undoes the redeem.
    expect(await Promise.all(asked)).toEqual([unavailable, admitted]);
    expect(redis.state.membership.caller(shard).client).not.toBe(client);
    expect(await redis.raw.hget(`${prefix}holds`, 'hold')).toMatch(new RegExp(`^${client} `));
  });

  test('are settled and counted, though a damaged record fails one of them', async () => {
    await Promise.all(['before', 'damaged', 'after'].map((holdId) => redeem({ holdId })));
    await redis.raw.hset(`${prefix}holds`, 'damaged', 'broker.one 10 0 0 not-a-wallet key - 2026-01 ');
    await redis.raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
    const stepsBefore = redis.state.membership.caller(shard).acked;
    const settled = await Promise.all(['before', 'damaged', 'after'].map((holdId) => outcome(settle(4n, holdId))));
    expect(settled).toEqual([{ answer: expect.anything() }, unavailable, { answer: expect.anything() }]);
    expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 10n, unbookedNusd: 8n });
    const entries = await redis.state.readSettlements(shard, '0-0', 100);
    expect(entries.map(({ payload }) => payload)).toEqual(['charge of before', 'charge of after']);
    expect(redis.state.membership.caller(shard).acked).toBe(stepsBefore + 3);
  });

  test('are booked together, though the record of one wallet is damaged', async () => {
    await Promise.all(['one', 'two'].map((holdId) => redeem({ holdId })));
    await Promise.all(['one', 'two'].map((holdId) => settle(4n, holdId)));
    await redis.raw.hset(`${prefix}notes`, 'strange', 'not-a-wallet key 5 - ');
    await redis.raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
    const failed = await outcome(redis.state.forget(shard, ['one', 'strange', 'two']));
    expect(failed).toEqual(unavailable);
    expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 0n });
  });

  test('are booked together, also in their budgets, though the record of one key is damaged', async () => {
    const budgetId = 'workspace:team';
    await redis.state.putBudget({ shard, budgetId, limitNusd: 1000n, version: 1, keptSince: '2020-01', spent: [] });
    await putKeyIn(
      redis.state,
      keyProjection({ shard, keyHash: 'key', walletId, generation: 2, budgetIds: [budgetId] }),
    );
    await redeem({ generation: 2 });
    await settle(4n);
    await redis.raw.hset(`${prefix}notes`, 'strange', `${walletId} not-a-key 5 - `);
    await redis.raw.set(`${prefix}key:not-a-key`, 'not a hash');
    expect(await outcome(redis.state.forget(shard, ['strange', 'hold']))).toEqual(unavailable);
    const { budgets, keys } = await redis.state.readBooks(shard, {
      walletIds: [],
      keyHashes: ['key'],
      budgetIds: [budgetId],
    });
    expect(keys.get('key')).toMatchObject({ unbookedNusd: 0n });
    for (const { openNusd } of budgets.get(budgetId)?.months.values() ?? []) expect(openNusd).toBe(0n);
  });
});
