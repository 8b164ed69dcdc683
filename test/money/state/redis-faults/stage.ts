import { createRedisState, generationOf, type State } from '@sotto/state';
import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { initialPreferences } from '@sotto/wire';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../../kit/fault-proxy.ts';
import {
  type AskedRedeem,
  joinAll,
  keyProjection,
  leaseMs,
  openEpoch,
  outcome,
  putKeyIn,
  redeemOf,
  settlementOf,
  untilReachable,
} from '../fixtures.ts';

export const shard = 5;
export const prefix = `sotto:{w${shard}}:`;
export const walletId = 'wallet';
export const generation = generationOf(1, 1);
export const byKey = { kind: 'key', keyHash: 'key' } as const;
export const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;
/** A busy machine answers well within this time. */
export const commandTimeoutMs = 1000;
/** Many times the delay that a busy machine adds to a deadline. Calls that waited for each other would take longer. */
export const slackMs = 5000;

/** A Redis for the tests of a file, which break it, and a state on it. Use it only within tests and hooks. */
export class RedisToBreak {
  server: OwnRedis | undefined;
  proxy: FaultProxy | undefined;
  #raw: Redis | undefined;
  #state: State | undefined;

  get raw(): Redis {
    return this.#raw ?? expect.unreachable('there is no connection yet');
  }

  get state(): State {
    return this.#state ?? expect.unreachable('there is no state yet');
  }

  async start(): Promise<void> {
    this.server = await startOwnRedis({ appendOnly: true });
    if (this.server === undefined) noteSkip('the faults of Redis', redisSkipReason);
  }

  /** Empties Redis, and gives it one wallet, one key and one ticket. */
  async renew({ url }: OwnRedis): Promise<void> {
    this.#raw = new Redis(url);
    await this.raw.flushall();
    this.#state = createRedisState({ url, commandTimeoutMs });
    await untilReachable(this.state);
    await project(this.state);
  }

  async disconnect(): Promise<void> {
    await this.#state?.close();
    this.#raw?.disconnect();
    this.proxy?.close();
    this.proxy = undefined;
  }

  redeem = (request: Partial<AskedRedeem> = {}) =>
    this.state.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', ...request }));
  settle = (chargeNusd: bigint, holdId = 'hold') => this.state.settle(settlementOf({ shard, holdId, chargeNusd }));
  book = (balanceNusd: bigint, version: number, holdIds: readonly string[]) =>
    this.state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], budgets: [], holdIds });
  held = async (): Promise<bigint | undefined> => (await this.state.readWallet(shard, walletId))?.heldNusd;
  answers = async (): Promise<boolean> => 'answer' in (await outcome(this.state.readWallet(shard, walletId)));

  /** Starts every call that the state offers, except `leave`, which would end this member. */
  everyCall = (): Promise<unknown>[] => {
    const { state } = this;
    return [
      state.lookupKey('key'),
      state.peek({ shard, right: byTicket }),
      this.redeem({ holdId: 'other' }),
      this.redeem({ holdId: 'by ticket', right: byTicket }),
      state.cancel(shard, 'hold'),
      this.settle(1n),
      state.countRefusal({ shard, right: byKey, kind: 'access' }),
      state.readRefusals(shard, 0),
      state.watermark(shard),
      state.putWallet({ shard, walletId, balanceNusd: 1000n, version: 1 }),
      state.putKey(keyProjection({ shard, keyHash: 'key', walletId })),
      state.mint({ shard, ticketHashes: ['another'], walletId, keyHash: 'key', generation, ttlMs: 1000 }),
      state.removeKey({ shard, keyHash: 'another', generation: 1, isNews: true }),
      state.putWorkspace({ shard, workspaceId: 'another', version: 1, preferences: initialPreferences }),
      state.putBudget({ shard, budgetId: 'another', limitNusd: 1n, version: 1, keptSince: '2025-12', spent: [] }),
      state.removeBudget({ shard, budgetId: 'removed', version: 1, isNews: true }),
      state.indexKey({ shard, keyHash: 'key' }),
      state.reserve({ shard, noteId: 'note', walletId, amountNusd: 1n, balanceNusd: 1000n, alone: false }),
      state.readWallet(shard, walletId),
      state.readSettlements(shard, '0-0', 1),
      this.book(1000n, 1, ['hold']),
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
  };

  /** How often scripts have run, according to Redis. */
  executions = async (): Promise<number> => {
    const stats = await this.raw.info('commandstats');
    const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+).*?failed_calls=(\d+)/g)];
    return calls.reduce((sum, [, made, failed]) => sum + Number(made) - Number(failed), 0);
  };

  throughProxy = async (): Promise<FaultProxy> => {
    const proxy = await startFaultProxy(Number(new URL(this.server?.url ?? '').port));
    this.proxy = proxy;
    await this.#state?.close();
    this.#state = createRedisState({ url: `redis://127.0.0.1:${proxy.port}`, commandTimeoutMs });
    await untilReachable(this.state);
    await joinAll(this.state);
    return proxy;
  };
}

/** Starts a Redis for the tests of a file, and renews it before each. Call it at the top level of the file. */
export function useRedisToBreak(): RedisToBreak {
  const redis = new RedisToBreak();
  beforeAll(() => redis.start());
  afterAll(() => redis.server?.stop());
  beforeEach((context) => (redis.server === undefined ? context.skip('no Redis') : redis.renew(redis.server)));
  afterEach(() => redis.disconnect());
  return redis;
}

async function project(to: State): Promise<void> {
  await openEpoch(to);
  await to.putWallet({ shard, walletId, balanceNusd: 1000n, version: 1 });
  await putKeyIn(to, keyProjection({ shard, keyHash: 'key', walletId }));
  await to.mint({ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', generation, ttlMs: 600_000 });
}
