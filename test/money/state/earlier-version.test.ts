import { readFileSync } from 'node:fs';
import { createRedisState, type State } from '@sotto/state';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { redisSkipReason, startTestRedis, type TestRedis } from '../../kit/redis.ts';
import { noteSkip } from '../../kit/skips.ts';
import { joinAll, keyProjection, openEpoch, redeemOf, untilReachable } from './fixtures.ts';

const shard = 5;
const walletId = 'wallet';
const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;

let server: TestRedis | undefined;
let redis: Redis;
/** A control and a broker of this version, and a membership for a broker of the version before. */
let control: State;
let broker: State;
let before: State;

beforeAll(async () => {
  server = await startTestRedis();
  if (server === undefined) noteSkip('two versions on one Redis', redisSkipReason);
});
afterAll(() => server?.stop());
beforeEach(async (context) => {
  if (server === undefined) return context.skip('no Redis');
  const { url } = server;
  redis = new Redis(url);
  await redis.flushdb();
  [control, broker, before] = ['control.one', 'broker.2.one', 'one-of-before'].map((name) =>
    createRedisState({ url, newClient: () => name }),
  ) as [State, State, State];
  await Promise.all([control, broker, before].map(untilReachable));
  await openEpoch(control);
  await Promise.all([joinAll(broker), joinAll(before)]);
  await control.putWallet({ shard, walletId, balanceNusd: 100n, version: 1 });
  await control.putKey(keyProjection({ shard, keyHash: 'key', walletId, generation: 7 }));
});
afterEach(async () => {
  redis?.disconnect();
  await Promise.all([control, broker, before].map((state) => state?.close()));
});

/** The scripts of the earlier version, by name. */
const scripts = new Map(
  readFileSync(new URL('earlier-scripts.lua', import.meta.url), 'utf8')
    .split(/^-- script: /m)
    .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1)]),
);

/** Runs a script of the earlier version behind the parts that all its scripts share, as the process that joined with it. */
async function run(script: string, ...args: readonly (string | number)[]): Promise<unknown[]> {
  const { client, epoch, acked, leaseUntil } = before.membership.caller(shard);
  const caller = [`sotto:{w${shard}}:epoch`, client, epoch, acked, leaseUntil];
  const reply = await redis.eval(`${scripts.get('parts')}${scripts.get(script)}`, 1, ...caller, ...args);
  return (reply as unknown[]).slice(1);
}
/** Redeems as brokers of the earlier version do: the ticket states its generation. */
const redeemBefore = (holdId: string, generation = 7): Promise<unknown[]> =>
  run('redeem', '', 'ticket', 'ticket', generation, holdId, 10, 0, '');
const redeem = (holdId: string, generation: number | undefined) =>
  broker.redeem(redeemOf({ shard, right: byTicket, holdId, generation }));
const mint = (form: 1 | 2) =>
  control.mint({ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', generation: 7, form, ttlMs: 60_000 });
const admitted = expect.objectContaining({ result: 'admitted' });

describe('beside a version that knew the first form of tickets only', () => {
  test('its control’s tickets are redeemed, undone and redeemed by a broker of this version', async () => {
    expect(await run('mint', 'ticket', walletId, 'key', 60_000, '', 7)).toEqual(['minted']);
    expect(await broker.peek({ shard, right: byTicket, generation: 7 })).toBeDefined();
    expect(await redeem('lost', 6)).toEqual({ result: 'invalid_ticket' });
    expect(await redeem('lost', 7)).toEqual(admitted);
    await broker.cancel(shard, 'lost');
    expect(await redeem('next', 7)).toEqual(admitted);
  });

  test('its brokers redeem tickets of the first form of this version’s control', async () => {
    expect(await mint(1)).toEqual({ result: 'minted' });
    expect((await redeemBefore('lost', 6))[0]).toBe('invalid_ticket');
    expect((await redeemBefore('lost'))[0]).toBe('admitted');
    await run('cancel', 'lost', 60_000);
    expect(await redeem('next', 7)).toEqual(admitted);
  });

  test('a ticket of the first form whose redeem this version undid is as good to its brokers as before', async () => {
    await mint(1);
    expect(await redeem('lost', 7)).toEqual(admitted);
    await broker.cancel(shard, 'lost');
    expect((await redeemBefore('next'))[0]).toBe('admitted');
    expect((await redeemBefore('again'))[0]).toBe('invalid_ticket');
  });

  test('its brokers take holds of tickets of the second form for what they are', async () => {
    await mint(2);
    expect(await redeem('held', undefined)).toEqual(admitted);
    expect(await control.readWallet(shard, walletId)).toMatchObject({ heldNusd: 10n });
    await broker.leave(shard);
    expect(await control.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n });
    // After it was reaped, either version can still charge it.
    await run('settle', 'held', 4, 0, 60_000, '', '');
    expect(await control.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  });

  test('its brokers leave the holds of this version’s alone', async () => {
    await mint(2);
    expect(await redeem('held', undefined)).toEqual(admitted);
    await run('leave', '');
    expect(await control.readWallet(shard, walletId)).toMatchObject({ heldNusd: 10n });
    expect((await control.readMembers(shard)).gone).toEqual(['one-of-before']);
    expect(await broker.readOwnHolds(shard)).toEqual(['held']);
  });
});

describe('beside a control that knew no budgets', () => {
  test('what it books counts as spent only, once the next projection has come', async () => {
    const budget = { shard, budgetId: 'workspace:team', limitNusd: 100n, version: 1, keptSince: '2020-01' };
    const key = keyProjection({ shard, keyHash: 'key', walletId, generation: 8, budgetIds: [budget.budgetId] });
    await control.putKey(key);
    await control.putBudget({ ...budget, spent: [] });
    const right = { kind: 'key', keyHash: 'key' } as const;
    const reply = await broker.redeem(redeemOf({ shard, right, holdId: 'charged', generation: 8, amountNusd: 60n }));
    expect(reply).toEqual(admitted);
    const month = 'month' in reply ? reply.month : '';
    const entry = { payload: 'a settlement', mac: 'mac' };
    await broker.settle({ shard, holdId: 'charged', chargeNusd: 60n, usedTokens: 0, entry });
    await redis.hdel(`sotto:{w${shard}}:notes`, 'charged');
    await control.putBudget({ ...budget, spent: [{ month, spentNusd: 60n }] });
    const books = await control.readBooks(shard, { walletIds: [], keyHashes: [], budgetIds: [budget.budgetId] });
    expect(books.budgets.get(budget.budgetId)?.months.get(month)).toEqual({
      ...{ spentNusd: 60n, openNusd: 0n, countedNusd: 0n },
    });
  });
});
