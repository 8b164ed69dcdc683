import { beforeEach, expect, test } from 'vitest';
import { keyProjection, outcome, putKeyIn } from '../fixtures.ts';
import { byKey, prefix, shard, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { redeem, settle } = redis;
const [team, alice] = ['workspace:team', 'member:alice'];
const month = '2026-01';
const unavailable = { unavailable: true };

const put = (budgetId: string, version = 1) =>
  redis.state.putBudget({ shard, budgetId, limitNusd: 100n, version, keptSince: '2020-01', spent: [] });
/** What a budget says is open, and the sum of the holds and notes that count in it. */
const sumsOf = async (budgetId: string): Promise<readonly bigint[]> => {
  const { budgets } = await redis.state.readBooks(shard, { walletIds: [], keyHashes: [], budgetIds: [budgetId] });
  return [...(budgets.get(budgetId)?.months.values() ?? [])].flatMap((sums) => [sums.openNusd, sums.countedNusd]);
};
const refused = { result: 'insufficient', scope: 'budget' };

beforeEach(async () => {
  await put(team);
  await put(alice);
  await putKeyIn(
    redis.state,
    keyProjection({ shard, keyHash: 'key', walletId, generation: 2, budgetIds: [team, alice] }),
  );
  await redeem({ generation: 2, amountNusd: 60n });
});

test('a limit that Redis lost limits again with the next projection, and counts what is held', async () => {
  await redis.raw.hdel(`${prefix}limits`, team, alice);
  await put(team);
  expect(await redeem({ generation: 2, holdId: 'next', amountNusd: 41n })).toMatchObject(refused);
  expect(await sumsOf(team)).toEqual([60n, 60n]);
});

test('sums that Redis lost are counted again with the next projection', async () => {
  await redeem({ generation: 2, holdId: 'another', amountNusd: 5n });
  await redis.raw.del(`${prefix}budget:${team}`);
  await put(team);
  expect(await sumsOf(team)).toEqual([65n, 65n]);
});

test('a budget that was removed stays removed, though its last projection comes again', async () => {
  await redis.state.removeBudget({ shard, budgetId: team, version: 2, isNews: true });
  await put(team, 2);
  expect(await redeem({ generation: 2, holdId: 'next', amountNusd: 41n })).toMatchObject({
    ...refused,
    budget: { scope: 'member' },
  });
});

test.each(['key:key', `wallet:${walletId}`])(
  'a settlement counts in its budgets, though %s is damaged',
  async (record) => {
    await redis.raw.rename(`${prefix}${record}`, 'kept');
    await redis.raw.set(`${prefix}${record}`, 'not a hash');
    expect(await outcome(settle(4n))).toEqual(unavailable);
    for (const budgetId of [team, alice]) expect(await sumsOf(budgetId)).toEqual([4n, 4n]);
    await redis.raw.rename('kept', `${prefix}${record}`);
    await settle(4n);
    expect(await redis.raw.xlen(`${prefix}stream`)).toBe(1);
  },
);

test('a damaged budget keeps a settlement from no other record', async () => {
  await redis.raw.set(`${prefix}budget:${team}`, 'not a hash');
  expect(await outcome(settle(4n))).toEqual(unavailable);
  expect(await sumsOf(alice)).toEqual([4n, 4n]);
  expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  expect(await outcome(redis.state.forget(shard, ['hold']))).toEqual(unavailable);
  expect(await sumsOf(alice)).toEqual([0n, 0n]);
});

test('limits that cannot be counted stay as they were', async () => {
  await redis.raw.rename(`${prefix}notes`, 'kept').catch(() => {});
  await redis.raw.set(`${prefix}notes`, 'not a hash');
  expect(await outcome(put(team, 2))).toEqual(unavailable);
  await redis.raw.del(`${prefix}notes`);
  expect(await sumsOf(team)).toEqual([60n, 60n]);
  await put(team, 2);
  expect(await sumsOf(team)).toEqual([60n, 60n]);
});

test('nothing is open when an epoch begins, whatever Redis says', async () => {
  await redis.raw.hset(`${prefix}budget:${team}`, `open ${month}`, 99);
  await redis.raw.del(`${prefix}epoch`);
  await redis.state.beginEpoch(shard, 2);
  expect((await redis.raw.hkeys(`${prefix}budget:${team}`)).filter((field) => field.startsWith('open'))).toEqual([]);
});

test('thousands of notes are dropped at once, each of them once', async () => {
  const ids = Array.from({ length: 2_500 }, (_, at) => `note-${at}`);
  await redis.raw.hset(
    `${prefix}notes`,
    Object.fromEntries(ids.map((id) => [id, `${walletId} key 2 ${month} ${team}`])),
  );
  await redis.raw.hset(`${prefix}wallet:${walletId}`, 'unbooked', 5_000);
  await redis.raw.hset(`${prefix}key:${byKey.keyHash}`, 'unbooked', 5_000);
  await redis.raw.hset(`${prefix}budget:${team}`, `open ${month}`, 5_000);
  await redis.state.forget(shard, [...ids.flatMap((id) => [id, id]), ...ids]);
  expect(await redis.raw.hget(`${prefix}budget:${team}`, `open ${month}`)).toBe('0');
  expect(await redis.raw.hlen(`${prefix}notes`)).toBe(0);
  expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ unbookedNusd: 0n });
});
