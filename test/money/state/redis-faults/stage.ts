import { createRedisState, generationOf, type State } from '@sotto/state';
import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { initialPreferences } from '@sotto/wire';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
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

export let server: OwnRedis | undefined;
export let raw: Redis;
export let state: State;
export let proxy: FaultProxy | undefined;

/**
 * Starts a Redis for the tests of a file, which break it. Before each test it is emptied and gets one wallet, one key and one
 * ticket. Call it at the top level of the file.
 */
export function useRedisToBreak(): void {
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
}

async function project(to: State): Promise<void> {
  await openEpoch(to);
  await to.putWallet({ shard, walletId, balanceNusd: 1000n, version: 1 });
  await putKeyIn(to, keyProjection({ shard, keyHash: 'key', walletId }));
  await to.mint({ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', generation, form: 2, ttlMs: 600_000 });
}

export const redeem = (request: Partial<AskedRedeem> = {}) =>
  state.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', ...request }));
export const settle = (chargeNusd: bigint, holdId = 'hold') =>
  state.settle(settlementOf({ shard, holdId, chargeNusd }));
export const book = (balanceNusd: bigint, version: number, holdIds: readonly string[]) =>
  state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], budgets: [], holdIds });
export const held = async (): Promise<bigint | undefined> => (await state.readWallet(shard, walletId))?.heldNusd;
export const answers = async (): Promise<boolean> => 'answer' in (await outcome(state.readWallet(shard, walletId)));

/** Starts every call that the state offers, except `leave`, which would end this member. */
export const everyCall = (): Promise<unknown>[] => [
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
export async function executions(): Promise<number> {
  const stats = await raw.info('commandstats');
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+).*?failed_calls=(\d+)/g)];
  return calls.reduce((sum, [, made, failed]) => sum + Number(made) - Number(failed), 0);
}

export async function throughProxy(): Promise<FaultProxy> {
  proxy = await startFaultProxy(Number(new URL(server?.url ?? '').port));
  await state.close();
  state = createRedisState({ url: `redis://127.0.0.1:${proxy.port}`, commandTimeoutMs });
  await untilReachable(state);
  await joinAll(state);
  return proxy;
}
