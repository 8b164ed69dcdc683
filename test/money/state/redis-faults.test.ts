// Longer than 400 lines, because every test breaks the same Redis, which this file starts and projects into.

import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { createRedisState, generationOf, type State, StateUnavailableError, shardOfWallet, shards } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../kit/fault-proxy.ts';
import { type OwnRedis, redisSkipReason, startOwnRedis } from '../../kit/redis.ts';
import { noteSkip } from '../../kit/skips.ts';
import { until } from '../../kit/until.ts';
import {
  type AskedRedeem,
  beginEpoch,
  eventually,
  joinAll,
  keyProjection,
  leaseMs,
  openEpoch,
  outcome,
  projectorTo,
  putKeyIn,
  redeemOf,
  settlementOf,
  untilReachable,
  walletIds,
} from './fixtures.ts';
import { readShard } from './read-shard.ts';

const shard = 5;
const prefix = `sotto:{w${shard}}:`;
const walletId = 'wallet';
const generation = generationOf(1, 1);
const byKey = { kind: 'key', keyHash: 'key' } as const;
const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;
/** A busy machine answers well within this time. */
const commandTimeoutMs = 1000;
/** Many times the delay that a busy machine adds to a deadline. Calls that waited for each other would take longer. */
const slackMs = 5000;

let server: OwnRedis | undefined;
let raw: Redis;
let state: State;
let proxy: FaultProxy | undefined;

beforeAll(async () => {
  server = await startOwnRedis({ appendOnly: true });
  if (server === undefined) noteSkip('the faults of Redis', redisSkipReason);
});
afterAll(() => server?.stop());
beforeEach(async (context) => {
  if (server === undefined) return context.skip('no Redis');
  raw = new Redis(server.url);
  await raw.flushall();
  state = createRedisState({ url: server.url, commandTimeoutMs });
  await untilReachable(state);
  await project(state);
});
afterEach(async () => {
  await state?.close();
  raw?.disconnect();
  proxy?.close();
  proxy = undefined;
});

async function project(to: State): Promise<void> {
  await openEpoch(to);
  await to.putWallet({ shard, walletId, balanceNusd: 1000n, version: 1 });
  await putKeyIn(to, keyProjection({ shard, keyHash: 'key', walletId }));
  await to.mint({ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', generation, form: 2, ttlMs: 600_000 });
}

const redeem = (request: Partial<AskedRedeem> = {}) =>
  state.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', ...request }));
const settle = (chargeNusd: bigint, holdId = 'hold') => state.settle(settlementOf({ shard, holdId, chargeNusd }));
const book = (balanceNusd: bigint, version: number, holdIds: readonly string[]) =>
  state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], budgets: [], holdIds });
const held = async (): Promise<bigint | undefined> => (await state.readWallet(shard, walletId))?.heldNusd;
const answers = async (): Promise<boolean> => 'answer' in (await outcome(state.readWallet(shard, walletId)));

/** Starts every call that the state offers, except `leave`, which would end this member. */
const everyCall = (): Promise<unknown>[] => [
  state.lookupKey('key'),
  state.peek({ shard, right: byTicket }),
  redeem({ holdId: 'other' }),
  redeem({ holdId: 'by ticket', right: byTicket }),
  state.cancel(shard, 'hold'),
  settle(1n),
  state.watermark(shard),
  state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 1 }),
  state.putKey(keyProjection({ shard, keyHash: 'key', walletId })),
  state.mint({ shard, ticketHashes: ['another'], walletId, keyHash: 'key', generation, form: 2, ttlMs: 1000 }),
  state.removeKey({ shard, keyHash: 'another', generation: 1, isNews: true }),
  state.putWorkspace({ shard, workspaceId: 'another', version: 1, preferences: initialPreferences }),
  state.putBudget({ shard, budgetId: 'another', limitNusd: 1n, version: 1, keptSince: '2025-12', spent: [] }),
  state.removeBudget({ shard, budgetId: 'removed', version: 1, isNews: true }),
  state.indexKey({ shard, keyHash: 'key' }),
  state.reserve({ shard, noteId: 'note', walletId, amountNusd: 1n, balanceNusd: 1000n, alone: false }),
  state.readWallet(shard, walletId),
  state.readSettlements(shard, '0-0', 1),
  book(1000n, 1, ['hold']),
  state.takeSettlements(shard, '0-0', 1),
  state.acknowledge(shard, '0-1', state.membership.caller(shard)),
  state.reap(shard, 1000),
  state.isOpen(),
  state.forget(shard, ['hold']),
  state.readOwnHolds(shard),
  state.readNotes(shard),
  state.readBooks(shard, { walletIds: [walletId], keyHashes: ['key'], budgetIds: [] }),
  state.join(shard, { declaration: undefined, leaseMs }),
  state.readMembers(shard),
  state.beginEpoch(shard, 1),
  state.admitDeclared(shard, 'client', { leaseMs, holds: [], charges: [] }),
  state.openEpoch(shard),
  state.discardEpoch(shard, 9),
  state.publishCatalog({ v: 1, version: 1, digest: '', file: { models: [] } }),
  state.readCatalog(0),
  state.publishRegistry({ digest: '', providers: [] }),
  state.readRegistry(),
  state.readPenalties(),
  state.updatePenalty('route:a', () => ({ kind: 'timeout', strikes: 1, lastStrikeAt: 1, expiresAt: 2 })),
  state.shareMeasurements({ hour: 1, source: 'one', records: new Map([['a', '1;1;;;;']]) }),
  state.readMeasurements(1, undefined),
  state.keepReceipt('gateway', 'r'.repeat(22), '{}', 1000),
  state.readReceipt('gateway', 'r'.repeat(22)),
];

/** How often scripts have run, according to Redis. */
async function executions(): Promise<number> {
  const stats = await raw.info('commandstats');
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+).*?failed_calls=(\d+)/g)];
  return calls.reduce((sum, [, made, failed]) => sum + Number(made) - Number(failed), 0);
}

async function throughProxy(): Promise<FaultProxy> {
  proxy = await startFaultProxy(Number(new URL(server?.url ?? '').port));
  await state.close();
  state = createRedisState({ url: `redis://127.0.0.1:${proxy.port}`, commandTimeoutMs });
  await untilReachable(state);
  await joinAll(state);
  return proxy;
}

test('an answer that came while this process was blocked is not late', async () => {
  const asked = [state.readRegistry(), state.lookupKey('none'), state.readPenalties()];
  // The commands leave at the end of this turn.
  await turn();
  await turn();
  // Stops this process, as parsing large bodies does. Redis goes on.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * commandTimeoutMs);
  await expect(Promise.all(asked)).resolves.toHaveLength(3);
});

test('scripts that Redis has forgotten are brought again', async () => {
  expect(await redeem()).toMatchObject({ result: 'admitted' });
  await raw.script('FLUSH');
  const others = ['a', 'b', 'c'].map((holdId) => redeem({ holdId }));
  expect(await Promise.all(others)).toMatchObject([{}, {}, {}].map(() => ({ result: 'admitted' })));
  await raw.script('FLUSH');
  await settle(3n);
  expect(await state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 30n, unbookedNusd: 3n });
});

describe('a Redis that hangs', () => {
  beforeEach(() => server?.pause());
  afterEach(() => server?.resume());

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
    expect(await state.isReady()).toBe(false);

    await server?.resume();
    await eventually(answers);
    expect(await state.isReady()).toBe(true);
    await state.cancel(shard, 'late');
    expect(await redeem({ holdId: 'next' })).toMatchObject({ result: 'admitted' });
  });

  test('may carry out a redeem long after its caller gave up: the cancel undoes it, whichever comes first', async () => {
    expect(await outcome(redeem({ right: byTicket, holdId: 'doubtful' }))).toEqual({ unavailable: true });
    const cancelled = outcome(state.cancel(shard, 'doubtful'));
    await server?.resume();
    await cancelled;
    await eventually(async () => 'answer' in (await outcome(state.cancel(shard, 'doubtful'))));
    await sleep(50);
    expect(await held()).toBe(0n);
    expect(await redeem({ right: byTicket, holdId: 'doubtful' })).toEqual({ result: 'closed' });
  });
});

test('a Redis that was killed comes back with everything, and the connection by itself', async () => {
  await redeem({ right: byTicket });
  await redeem({ holdId: 'settled' });
  const settled = await settle(4n, 'settled');
  await state.cancel(shard, 'cancelled');
  const before = await readShard(raw, prefix);
  await server?.kill9();
  const started = performance.now();
  const outcomes = await Promise.all(everyCall().map(outcome));
  expect(outcomes).toEqual(outcomes.map(() => ({ unavailable: true })));
  expect(performance.now() - started).toBeLessThan(commandTimeoutMs + slackMs);

  await server?.restart();
  await eventually(answers);
  expect(await readShard(raw, prefix)).toEqual(before);
  expect(await state.isReady()).toBe(true);
  expect(await state.readSettlements(shard, '0-0', 9)).toMatchObject([{ streamId: settled?.streamId }]);
  expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual({ result: 'invalid_ticket' });
  expect(await redeem({ holdId: 'cancelled' })).toEqual({ result: 'closed' });
  expect(await redeem()).toMatchObject({ result: 'admitted' });
  expect(await held()).toBe(10n);
});

test('what is lost once more while it is projected is not opened', async () => {
  await raw.flushall();
  await beginEpoch(2, state);
  await state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 2 });
  await putKeyIn(state, keyProjection({ shard, keyHash: 'key', walletId }));
  await raw.flushall();
  expect(await outcome(state.openEpoch(shard))).toEqual({ unavailable: true });
  expect(await state.isOpen()).toBe(false);
  expect(await outcome(state.lookupKey('key'))).toEqual({ unavailable: true });
  expect(await outcome(redeem({ holdId: 'other' }))).toEqual({ unavailable: true });
});

test('a Redis that lost everything is unavailable, and calls no key or ticket wrong, until control has projected anew', async () => {
  await redeem();
  await raw.flushall();
  const refusals = () =>
    Promise.all(
      [
        redeem({ right: byTicket }),
        redeem({ holdId: 'other' }),
        redeem({ holdId: 'unknown', right: { kind: 'key', keyHash: 'unknown' } }),
        state.peek({ shard, right: byTicket }),
        state.mint({ shard, ticketHashes: ['t'], walletId, keyHash: 'key', generation, form: 2, ttlMs: 1000 }),
        settle(4n),
      ].map((call) => outcome<unknown>(call)),
    );
  const all = Array.from({ length: 6 }, () => ({ unavailable: true }));
  expect(await refusals()).toEqual(all);
  expect(await outcome(state.lookupKey('key'))).toEqual({ unavailable: true });
  expect(await state.isReady()).toBe(false);

  await beginEpoch(2, state);
  await state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 2 });
  await putKeyIn(state, keyProjection({ shard, keyHash: 'key', walletId }));
  expect(await refusals()).toEqual(all);

  for (const each of shards) await state.openEpoch(each);
  expect(await settle(4n)).toMatchObject({ epoch: 2 });
  expect(await redeem({ right: byTicket })).toEqual({ result: 'closed' });
  expect(await redeem({ right: byTicket, holdId: 'new' })).toEqual({ result: 'invalid_ticket' });
  expect(await redeem({ holdId: 'other' })).toMatchObject({ result: 'admitted' });
  expect(await held()).toBe(10n);
});

describe('a replica that was behind', () => {
  /** Saves the contents of Redis. The returned function restores them. */
  const dump = async (): Promise<() => Promise<void>> => {
    const names = await raw.keys('*');
    const values = await Promise.all(names.map((name) => raw.dumpBuffer(name)));
    return async () => {
      await raw.flushall();
      for (const [at, name] of names.entries()) await raw.restore(name, 0, values[at] ?? Buffer.alloc(0));
    };
  };

  test('is detected by a process that lost something, and admits nothing more from any process', async () => {
    const other = createRedisState({ url: server?.url ?? '', commandTimeoutMs });
    try {
      await untilReachable(other);
      await joinAll(other);
      const failOver = await dump();
      await redeem();
      await failOver();
      // A process that lost nothing notices within a moment, because every process takes a step each second.
      const asOther = (holdId: string) => other.redeem(redeemOf({ shard, right: byKey, holdId }));
      expect(await asOther('before')).toMatchObject({ result: 'admitted' });
      expect(await outcome(state.join(shard, { declaration: undefined, leaseMs }))).toEqual({ unavailable: true });
      expect(await outcome(asOther('after'))).toEqual({ unavailable: true });
      expect((await state.readMembers(shard)).epoch).toBeUndefined();
    } finally {
      await other.close();
    }
  });

  test('does not make a used ticket valid again', async () => {
    const failOver = await dump();
    expect(await redeem({ right: byTicket })).toMatchObject({ result: 'admitted' });
    await failOver();
    expect(await outcome(redeem({ right: byTicket, holdId: 'again' }))).toEqual({ unavailable: true });
    await state.beginEpoch(shard, 2);
    await joinAll(state);
    await state.openEpoch(shard);
    expect(await redeem({ right: byTicket, holdId: 'again' })).toEqual({ result: 'invalid_ticket' });
  });

  test('does not take the acknowledgement of a settlement that it lacks', async () => {
    const control = createRedisState({ url: server?.url ?? '', commandTimeoutMs });
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
      expect((await state.readMembers(shard)).epoch).toBeUndefined();
    } finally {
      await control.close();
    }
  });

  test('of an older epoch is ended by a process that knows the newer one', async () => {
    const failOver = await dump();
    await raw.flushall();
    await openEpoch(state, 2);
    await failOver();
    expect((await state.readMembers(shard)).epoch).toBe(1);
    expect(await outcome(redeem())).toEqual({ unavailable: true });
    expect((await state.readMembers(shard)).epoch).toBeUndefined();
  });

  test('is noticed though other steps have made up for the number', async () => {
    const failOver = await dump();
    await redeem();
    await failOver();
    const { client } = state.membership.caller(shard);
    // Simulates steps that were under way and whose replies arrived here.
    await raw.hset(`${prefix}clients`, `${client} n`, 0);
    expect(await outcome(redeem({ holdId: 'next' }))).toEqual({ unavailable: true });
  });
});

describe('a connection that is cut before the reply', () => {
  test('leaves a redeem carried out once, never sent again, and undone by a cancel', async () => {
    const network = await throughProxy();
    for (const holdId of ['sent as source', 'sent as digest']) {
      const [before, connections] = [await executions(), network.connections];
      network.cutNextReply();
      await expect(redeem({ holdId })).rejects.toThrow(StateUnavailableError);
      await eventually(answers);
      await sleep(100);
      expect(network.connections).toBeGreaterThan(connections);
      expect(await executions()).toBe(before + 1);
      expect(await held()).toBe(10n);
      await state.cancel(shard, holdId);
      expect(await held()).toBe(0n);
      expect(await redeem({ holdId: `after ${holdId}` })).toMatchObject({ result: 'admitted' });
      await state.cancel(shard, `after ${holdId}`);
    }
  });

  test('leaves a settlement that can be sent again: charged once', async () => {
    const { cutNextReply } = await throughProxy();
    await redeem();
    cutNextReply();
    await expect(settle(4n)).rejects.toThrow(StateUnavailableError);
    await eventually(answers);
    await settle(4n);
    expect(await state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  });

  test('counts measurements once, though they are sent again', async () => {
    const { cutNextReply } = await throughProxy();
    const share = () => state.shareMeasurements({ hour: 7, source: 'one', records: new Map([['a', '1;1;;;;']]) });
    cutNextReply();
    await expect(share()).rejects.toThrow(StateUnavailableError);
    await eventually(answers);
    await sleep(100);
    await share();
    const { records } = await state.readMeasurements(7, undefined);
    expect(records).toEqual([{ source: 'one', routeId: 'a', record: '1;1;;;;' }]);
  });

  test('measurements that Redis has lost and made anew are read from the beginning', async () => {
    const share = (routeId: string) =>
      state.shareMeasurements({ hour: 7, source: 'one', records: new Map([[routeId, '1;1;;;;']]) });
    await share('a');
    await share('b');
    const { cursor } = await state.readMeasurements(7, undefined);
    await raw.del('sotto:{measurements}:7', 'sotto:{measurements}:7:changes');
    for (const routeId of ['c', 'd', 'e']) await share(routeId);
    const { records } = await state.readMeasurements(7, cursor);
    expect(records.map(({ routeId }) => routeId)).toEqual(['c', 'd', 'e']);
  });

  test('while many are under way fails them all, and repeats none', async () => {
    const { cutNextReply } = await throughProxy();
    const before = await executions();
    cutNextReply();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => outcome(redeem({ holdId: `hold-${index}` }))),
    );
    expect(outcomes.filter((each) => 'answer' in each)).toEqual([]);
    await eventually(answers);
    await sleep(100);
    expect(await executions()).toBeLessThanOrEqual(before + 50);
    for (let index = 0; index < 50; index += 1) await state.cancel(shard, `hold-${index}`);
    expect(await held()).toBe(0n);
  });
});

test('a connection that has gone silent is given up for a new one', async () => {
  const { silence } = await throughProxy();
  silence();
  expect(await outcome(redeem())).toEqual({ unavailable: true });
  await eventually(answers);
  expect(proxy?.connections).toBeGreaterThan(1);
});

test('a Redis that is full admits nothing, and still ends what was admitted', async () => {
  for (const holdId of ['settled', 'cancelled']) await redeem({ holdId });
  const gone = createRedisState({ url: server?.url ?? '', commandTimeoutMs });
  await untilReachable(gone);
  await joinAll(gone, 1);
  await joinAll(gone, 1000);
  await gone.redeem(redeemOf({ shard, right: byKey, holdId: 'reaped' }));
  await gone.close();
  await sleep(1010);
  await redeem({ holdId: 'booked' });
  await settle(2n, 'booked');
  await raw.config('SET', 'maxmemory', '1');
  try {
    expect(await outcome(redeem({ right: byTicket }))).toEqual({ unavailable: true });
    expect(await state.peek({ shard, right: byTicket })).toBeDefined();
    expect(await settle(4n, 'settled')).toMatchObject({ streamId: expect.any(String) });
    await state.cancel(shard, 'cancelled');
    expect(await state.reap(shard, 0)).toBe(1);
    expect(await state.join(shard, { declaration: undefined, leaseMs })).toMatchObject({ result: 'joined' });
    await book(998n, 2, ['booked']);
    expect(await state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  } finally {
    await raw.config('SET', 'maxmemory', '0');
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
  await raw.config('SET', 'maxmemory', '1');
  try {
    const { entries, reader } = await state.takeSettlements(shard, '0-0', 10);
    expect(entries).toHaveLength(4);
    // Simulates a settler that died after booking and before it moved the watermark. No note is left to delete.
    await book(997n, 3, ['a', 'b']);
    await state.forget(shard, ['a']);
    await state.acknowledge(shard, entries.at(-1)?.streamId ?? '', reader);
    expect(await raw.xlen(`${prefix}stream`)).toBe(0);
  } finally {
    await raw.config('SET', 'maxmemory', '0');
  }
  expect(await state.readWallet(shard, walletId)).toMatchObject({ fundsNusd: 997n });
});

const usedBytes = async (): Promise<number> => (await state.readMemory())?.usedBytes ?? expect.fail('no memory');
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
  for (const key of keysOfOne(300)) await putKeyIn(state, { ...key, workspace }, largePreferences);
  expect(await state.lookupKey('key-299')).toMatchObject({ record: { preferences: largePreferences } });
  expect((await usedBytes()) - before).toBeLessThan(600_000);
});

test('the earlier secrets of a key that is rotated again and again leave nothing for good', async () => {
  const secretOf = (rotation: number): string => `rotated-${rotation}`;
  for (let rotation = 1; rotation <= 5; rotation += 1) {
    const secrets = [{ secretHash: secretOf(rotation), endsAt: undefined }];
    await putKeyIn(state, keyProjection({ shard, keyHash: 'key-0', walletId, generation: rotation + 1, secrets }));
  }
  const indexed = (await raw.keys('*index:*')).filter((name) => name.includes('rotated-'));
  expect(indexed).toHaveLength(5);
  const lasting: string[] = [];
  for (const name of indexed) if ((await raw.pttl(name)) === -1) lasting.push(name);
  expect(lasting.map((name) => name.slice(name.indexOf('rotated-')))).toEqual([secretOf(5)]);
  expect(await state.lookupKey(secretOf(5))).toBeDefined();
});

test('a Redis that is full still takes the revocation of a key, which frees memory at once', async () => {
  const workspace = { workspaceId: 'large', version: 1 };
  const keys = keysOfOne(300).map((key) => ({ ...key, workspace }));
  for (const key of keys) await putKeyIn(state, key, largePreferences);
  const budget = { shard, budgetId: 'workspace:large', version: 1 };
  await state.putBudget({ ...budget, limitNusd: 1n, keptSince: '2020-01', spent: [] });
  await redeem({ holdId: 'held', right: { kind: 'key', keyHash: 'key-0' } });
  await raw.config('SET', 'maxmemory', '1');
  try {
    expect(await outcome(state.putKey(keyProjection({ shard, keyHash: 'new', walletId })))).toEqual({
      unavailable: true,
    });
    const before = await usedBytes();
    for (const { keyHash, generation } of keys) {
      await state.removeKey({ shard, keyHash, generation: generation + 1, isNews: true });
    }
    await state.removeKey({ shard, keyHash: 'never projected', generation: 1, isNews: true });
    await state.removeBudget({ ...budget, version: 2, isNews: true });
    expect(before - (await usedBytes())).toBeGreaterThan(150_000);
    expect(await state.lookupKey('key-1')).toBeUndefined();
    expect(await outcome(redeem({ right: { kind: 'key', keyHash: 'key-1' } }))).toEqual({
      answer: { result: 'unknown_key' },
    });
    await settle(1n, 'held');
    // Nothing of the keys stays for good, except where a charge still counts in one.
    const names = await raw.keys('*');
    const lasting: string[] = [];
    for (const name of names) if ((await raw.pttl(name)) === -1 && /key-\d|large|never/.test(name)) lasting.push(name);
    expect(lasting).toEqual([`${prefix}key:key-0`]);
    await book(999n, 2, ['held']);
    expect(await raw.pttl(`${prefix}key:key-0`)).toBeGreaterThan(0);
  } finally {
    await raw.config('SET', 'maxmemory', '0');
  }
});

test('however much a broker declares at once is carried to Redis', async () => {
  const patient = createRedisState({ url: server?.url ?? '', commandTimeoutMs: 20_000 });
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
    await state.putWallet({ ...other, balanceNusd: 1000n, version: 1 });
    await putKeyIn(state, keyProjection(other));
  });

  test('travel in calls of at most 64, whatever their shards', async () => {
    const ids = Array.from({ length: 70 }, (_, index) => `hold-${index}`);
    const before = await executions();
    const asked = ids.map((holdId, at) =>
      outcome(redeem({ holdId, amountNusd: 1n, ...(at % 2 === 0 ? {} : elsewhere) })),
    );
    expect(await Promise.all(asked)).toEqual(ids.map(() => admitted));
    const settled = ids.map((holdId, at) =>
      state.settle(settlementOf({ shard: at % 2 === 0 ? shard : other.shard, holdId, chargeNusd: 1n })),
    );
    expect(new Set((await Promise.all(settled)).map((place) => place?.epoch))).toEqual(new Set([1]));
    expect((await executions()) - before).toBe(4);
    for (const each of [{ shard, walletId }, other]) {
      expect(await state.readWallet(each.shard, each.walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 35n });
    }
  });

  test('share neither a refusal of a shard nor a damaged record', async () => {
    await state.putWallet({ shard, walletId: 'damaged', balanceNusd: 100n, version: 1 });
    await putKeyIn(state, keyProjection({ shard, keyHash: 'damaged', walletId: 'damaged' }));
    await raw.set(`${prefix}wallet:damaged`, 'not a hash');
    await state.discardEpoch(other.shard, 1);
    const damaged = redeem({ holdId: 'damaged', walletId: 'damaged', right: { kind: 'key', keyHash: 'damaged' } });
    const asked = [redeem({ holdId: 'before' }), damaged, redeem({ holdId: 'lost', ...elsewhere }), redeem()];
    expect(await Promise.all(asked.map(outcome))).toEqual([admitted, unavailable, unavailable, admitted]);
    expect(await held()).toBe(20n);
    expect((await readShard(raw, prefix)).holds.size).toBe(2);
  });

  test('are executed as the member that asked, though the process begins another incarnation before the call', async () => {
    const { client } = state.membership.caller(shard);
    const asked = [outcome(redeem()), outcome(redeem({ holdId: 'elsewhere', ...elsewhere }))];
    const lapse = () =>
      state.membership.take(shard, state.membership.caller(shard), { refused: 'lapsed' as const, epoch: 1 });
    expect(lapse).toThrow(StateUnavailableError);
    // Its own books name the earlier member. So it must not count on the answer, and undoes the redeem.
    expect(await Promise.all(asked)).toEqual([unavailable, admitted]);
    expect(state.membership.caller(shard).client).not.toBe(client);
    expect(await raw.hget(`${prefix}holds`, 'hold')).toMatch(new RegExp(`^${client} `));
  });

  test('are settled and counted, though a damaged record fails one of them', async () => {
    await Promise.all(['before', 'damaged', 'after'].map((holdId) => redeem({ holdId })));
    await raw.hset(`${prefix}holds`, 'damaged', 'broker.2.one 10 0 0 not-a-wallet key -');
    await raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
    const stepsBefore = state.membership.caller(shard).acked;
    const settled = await Promise.all(['before', 'damaged', 'after'].map((holdId) => outcome(settle(4n, holdId))));
    expect(settled).toEqual([{ answer: expect.anything() }, unavailable, { answer: expect.anything() }]);
    expect(await state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 10n, unbookedNusd: 8n });
    const entries = await state.readSettlements(shard, '0-0', 100);
    expect(entries.map(({ payload }) => payload)).toEqual(['charge of before', 'charge of after']);
    expect(state.membership.caller(shard).acked).toBe(stepsBefore + 3);
  });

  test('are booked together, though the record of one wallet is damaged', async () => {
    await Promise.all(['one', 'two'].map((holdId) => redeem({ holdId })));
    await Promise.all(['one', 'two'].map((holdId) => settle(4n, holdId)));
    await raw.hset(`${prefix}notes`, 'strange', 'not-a-wallet key 5');
    await raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
    const failed = await outcome(state.forget(shard, ['one', 'strange', 'two']));
    expect(failed).toEqual(unavailable);
    expect(await state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 0n });
  });

  test('are booked together, also in their budgets, though the record of one key is damaged', async () => {
    const budgetId = 'workspace:team';
    await state.putBudget({ shard, budgetId, limitNusd: 1000n, version: 1, keptSince: '2020-01', spent: [] });
    await putKeyIn(state, keyProjection({ shard, keyHash: 'key', walletId, generation: 2, budgetIds: [budgetId] }));
    await redeem({ generation: 2 });
    await settle(4n);
    await raw.hset(`${prefix}notes`, 'strange', `${walletId} not-a-key 5`);
    await raw.set(`${prefix}key:not-a-key`, 'not a hash');
    expect(await outcome(state.forget(shard, ['strange', 'hold']))).toEqual(unavailable);
    const { budgets, keys } = await state.readBooks(shard, {
      walletIds: [],
      keyHashes: ['key'],
      budgetIds: [budgetId],
    });
    expect(keys.get('key')).toMatchObject({ unbookedNusd: 0n });
    for (const { openNusd } of budgets.get(budgetId)?.months.values() ?? []) expect(openNusd).toBe(0n);
  });
});

test('a record that is damaged fails its own requests only', async () => {
  await state.putWallet({ shard, walletId: 'damaged', balanceNusd: 1n, version: 1 });
  await putKeyIn(state, keyProjection({ shard, keyHash: 'damaged', walletId: 'damaged' }));
  await raw.set(`${prefix}wallet:damaged`, 'not a hash');
  await raw.hset(`${prefix}key:damaged`, 'rec', '{"prompt":"secret');
  for (let count = 0; count < 30; count += 1) {
    const right = { kind: 'key', keyHash: 'damaged' } as const;
    const failure = redeem({ holdId: `damaged-${count}`, walletId: 'damaged', right });
    await expect(failure).rejects.toThrow(new StateUnavailableError('ReplyError WRONGTYPE'));
  }
  await expect(state.lookupKey('damaged')).rejects.toThrow(new StateUnavailableError('unreadable key record'));
  await raw.hset('sotto:catalog', 'version', 5, 'snapshot', '{"secret');
  await expect(state.readCatalog(1)).rejects.toThrow(new StateUnavailableError('unreadable catalog'));
  await raw.set('sotto:registry', 'secret');
  await expect(state.readRegistry()).rejects.toThrow(new StateUnavailableError('unreadable registry'));
  await raw.hset('sotto:penalties', 'route:a', 'secret');
  expect(await state.readPenalties()).toEqual(new Map());
  expect(await redeem()).toMatchObject({ result: 'admitted' });
});

test.each(['wallet:wallet-0', 'key:key-0'])('a damaged %s keeps back only its own shard', async (record) => {
  const lacking = shardOfWallet('wallet-0');
  await raw.set(`sotto:{w${lacking}}:${record}`, 'not a hash');
  const failures = await projectorTo(state).project(new Set(shards));
  expect([...failures]).toEqual([[lacking, new StateUnavailableError('ReplyError WRONGTYPE')]]);
  for (const [at, id] of walletIds.entries()) {
    if (shardOfWallet(id) === lacking) continue;
    expect(await state.readWallet(shardOfWallet(id), id)).toMatchObject({ fundsNusd: 1000n });
    expect(await state.lookupKey(`key-${at}`)).toMatchObject({ shard: shardOfWallet(id) });
  }
});

test('a process that leaves releases its holds, though the record of one wallet is damaged', async () => {
  await Promise.all(['before', 'damaged', 'after'].map((holdId) => redeem({ holdId })));
  const { client } = state.membership.caller(shard);
  await raw.hset(`${prefix}holds`, 'damaged', `${client} 10 0 0 not-a-wallet key -`);
  await raw.set(`${prefix}wallet:not-a-wallet`, 'not a hash');
  expect(await outcome(state.leave(shard))).toEqual({ unavailable: true });
  // The damaged hold no longer names the wallet, so its own amount stays there.
  expect(await held()).toBe(10n);
  expect(await raw.hlen(`${prefix}holds`)).toBe(0);
});

test('nothing that comes with requests stays for ever', async () => {
  await redeem({ right: byTicket });
  await settle(4n);
  await redeem({ holdId: 'released' });
  await settle(0n, 'released');
  await state.cancel(shard, 'cancelled');
  await settle(1n, 'never redeemed');
  await book(996n, 2, ['hold']);
  const { entries, reader } = await state.takeSettlements(shard, '0-0', 10);
  await state.acknowledge(shard, entries.at(-1)?.streamId ?? '', reader);
  await state.shareMeasurements({ hour: 1, source: 'one', records: new Map([['a', '1;1;;;;']]) });
  await state.updatePenalty('route:a', () => ({ kind: 'timeout', strikes: 1, lastStrikeAt: 1, expiresAt: 2 }));
  const lasting: string[] = [];
  for (const key of await raw.keys('*')) if ((await raw.pttl(key)) === -1) lasting.push(key);
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
  expect(await raw.xlen(`${prefix}stream`)).toBe(0);
});

test('a Redis that may lose or evict what it has answered is not ready where that is required, and says why', async () => {
  const problems: string[] = [];
  const strict = createRedisState({
    url: server?.url ?? '',
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
      await raw.config('SET', 'appendonly', 'yes');
      await raw.config('SET', 'appendfsync', 'always');
      await raw.config('SET', 'maxmemory-policy', 'noeviction');
      await raw.config('SET', name, wrong);
      const other = createRedisState({ url: server?.url ?? '', onVolatile: (problem) => problems.push(problem) });
      await untilReachable(other);
      expect(await other.isReady()).toBe(false);
      expect(problems.at(-1)).toBe(`Redis has \`${name} ${wrong}\`: it takes \`${name} ${right}\``);
      await raw.config('SET', name, right);
      expect(await other.isReady()).toBe(true);
      await other.close();
    }
    expect(await strict.isReady()).toBe(true);
    // A new connection is checked again, because after a failover it may reach another Redis.
    problems.length = 0;
    await raw.config('SET', 'appendonly', 'no');
    await raw.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const isFound = async (): Promise<boolean> => !(await strict.isReady()) && problems.length > 0;
    await until(isFound, 'what has changed is found');
    expect(problems[0]).toBe('Redis has `appendonly no`: it takes `appendonly yes`');
    await raw.config('SET', 'appendonly', 'yes');
    await until(() => strict.isReady(), 'it is ready again');
  } finally {
    await strict.close();
  }
});
