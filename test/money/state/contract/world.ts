import { generationOf, type RemovedKey, type State } from '@sotto/state';
import { noteSkip, redisSkipReason } from '@sotto/test-servers';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Driver } from '../drivers.ts';
import { type AskedRedeem, joinAll, keyProjection, openEpoch, putKeyIn, redeemOf, settlementOf } from '../fixtures.ts';

/** The driver under test. The drivers take turns, and each test finds this one's state freshly prepared. */
export let driver: Driver | undefined;
export let state: State;

/** Within a `describe`: starts a driver for its tests. Each test finds an open epoch and nothing else. */
export function takeDriver({ name, start }: { readonly name: string; start(): Promise<Driver | undefined> }): void {
  beforeAll(async () => {
    driver = await start();
    if (driver === undefined) noteSkip(`the contract of the state on ${name}`, redisSkipReason);
  });
  afterAll(() => driver?.stop());
  beforeEach(async (context) => {
    if (driver === undefined) return context.skip(`no ${name}`);
    await beginAnew();
    await openEpoch(state);
  });
}

/** Resets the driver as `takeDriver` does before a test, but without an open epoch. */
export async function beginAnew(): Promise<void> {
  await driver?.reset();
  if (driver !== undefined) state = driver.state;
}

export const shard = 5;
export const walletId = 'wallet-secret';
export const byKey = { kind: 'key', keyHash: 'key' } as const;
export const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;
export const ticketAt = (shard: number) => ({ shard, right: byTicket, generation: '1.1' });
export const unavailable = { unavailable: true };
export const graceMs = 5_000;
export const place = { streamId: expect.any(String), epoch: 1 };

export const fund = (balanceNusd: bigint, version = 1) => state.putWallet({ shard, walletId, balanceNusd, version });
export const putKey = (changes: Parameters<typeof keyProjection>[0] | object = {}) =>
  putKeyIn(state, keyProjection({ shard, keyHash: 'key', walletId, ...changes }));
export const removeKey = (generation: number, changes: Partial<RemovedKey> = {}) =>
  state.removeKey({ shard, keyHash: 'key', generation, isNews: true, ...changes });
/** Gives the wallet a balance, and a key. */
export const fundKey = async (balanceNusd: bigint): Promise<void> => {
  await fund(balanceNusd);
  await putKey();
};
type Order = Omit<Parameters<State['mint']>[0], 'generation'> & {
  readonly generation: number;
  readonly version: number;
};
export const mint = (changes: Partial<Order> = {}) => {
  const { generation = 1, version = 1, ...order } = changes;
  return state.mint({
    ...{ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', form: 2, ttlMs: 60_000 },
    ...order,
    generation: generationOf(generation, version),
  });
};
export const redeem = (request: Partial<AskedRedeem> = {}) => redeemAs(state, request);
export const settle = (chargeNusd: bigint, holdId = 'hold') =>
  state.settle(settlementOf({ shard, holdId, chargeNusd }));
/** Books charges of the wallet, after which it has this balance. */
export const book = (balanceNusd: bigint, version: number, holdIds: readonly string[] = []) =>
  state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], budgets: [], holdIds });
export const wallet = () => state.readWallet(shard, walletId);
/** Another process, with a short lease. */
export const joinOther = async (): Promise<State> => {
  const other = driver?.other ?? state;
  await joinAll(other, 1000);
  return other;
};
export const redeemAs = (as: State, request: Partial<AskedRedeem> = {}) =>
  as.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', walletId, ...request }));
/** Lets the other process's lease lapse and reaps it. Returns how many holds were released. */
export const reapOther = async (): Promise<number> => {
  driver?.advance(1000);
  expect(await state.reap(shard, graceMs)).toBe(0);
  driver?.advance(graceMs);
  return state.reap(shard, graceMs);
};
export const amounts = (heldNusd: bigint, unbookedNusd: bigint) => expect.objectContaining({ heldNusd, unbookedNusd });
export const result = (name: string, more: object = {}) => expect.objectContaining({ result: name, ...more });
