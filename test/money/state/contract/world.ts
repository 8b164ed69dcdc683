/** The contract of the state needs no service: one driver at a time, and the steps that tests take with its state. */

import { generationOf, type RemovedKey, type State } from '@sotto/state';
import { noteSkip, redisSkipReason } from '@sotto/test-servers';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import type { Driver } from '../drivers.ts';
import { type AskedRedeem, joinAll, keyProjection, openEpoch, putKeyIn, redeemOf, settlementOf } from '../fixtures.ts';

export const shard = 5;
export const walletId = 'wallet-secret';
export const byKey = { kind: 'key', keyHash: 'key' } as const;
export const byTicket = { kind: 'ticket', ticketHash: 'ticket' } as const;
export const ticketAt = (shard: number) => ({ shard, right: byTicket, generation: '1.1' });
export const unavailable = { unavailable: true };
export const graceMs = 5_000;
export const place = { streamId: expect.any(String), epoch: 1 };

type Order = Omit<Parameters<State['mint']>[0], 'generation'> & {
  readonly generation: number;
  readonly version: number;
};

/** A driver under test, and what tests do with its state. Use it only within tests and hooks. */
export class DrivenState {
  driver: Driver | undefined;

  get state(): State {
    return this.driver?.state ?? expect.unreachable('there is no driver');
  }

  fund = (balanceNusd: bigint, version = 1) => this.state.putWallet({ shard, walletId, balanceNusd, version });
  putKey = (changes: Parameters<typeof keyProjection>[0] | object = {}) =>
    putKeyIn(this.state, keyProjection({ shard, keyHash: 'key', walletId, ...changes }));
  removeKey = (generation: number, changes: Partial<RemovedKey> = {}) =>
    this.state.removeKey({ shard, keyHash: 'key', generation, isNews: true, ...changes });
  /** Gives the wallet a balance, and a key. */
  fundKey = async (balanceNusd: bigint): Promise<void> => {
    await this.fund(balanceNusd);
    await this.putKey();
  };
  mint = (changes: Partial<Order> = {}) => {
    const { generation = 1, version = 1, ...order } = changes;
    return this.state.mint({
      ...{ shard, ticketHashes: ['ticket'], walletId, keyHash: 'key', ttlMs: 60_000 },
      ...order,
      generation: generationOf(generation, version),
    });
  };
  redeem = (request: Partial<AskedRedeem> = {}) => this.redeemAs(this.state, request);
  settle = (chargeNusd: bigint, holdId = 'hold') => this.state.settle(settlementOf({ shard, holdId, chargeNusd }));
  /** Books charges of the wallet, after which it has this balance. */
  book = (balanceNusd: bigint, version: number, holdIds: readonly string[] = []) =>
    this.state.book({ wallet: { shard, walletId, balanceNusd, version }, keys: [], budgets: [], holdIds });
  wallet = () => this.state.readWallet(shard, walletId);
  /** Another process, with a short lease. */
  joinOther = async (): Promise<State> => {
    const other = this.driver?.other ?? this.state;
    await joinAll(other, 1000);
    return other;
  };
  redeemAs = (as: State, request: Partial<AskedRedeem> = {}) =>
    as.redeem(redeemOf({ shard, right: byKey, holdId: 'hold', walletId, ...request }));
  /** Lets the other process's lease lapse and reaps it. Returns how many holds were released. */
  reapOther = async (): Promise<number> => {
    this.driver?.advance(1000);
    expect(await this.state.reap(shard, graceMs)).toBe(0);
    this.driver?.advance(graceMs);
    return this.state.reap(shard, graceMs);
  };
}

/** Within a `describe`: starts a driver for its tests. Each test finds an open epoch and nothing else. */
export function takeDriver({
  name,
  start,
}: {
  readonly name: string;
  start(): Promise<Driver | undefined>;
}): DrivenState {
  const driven = new DrivenState();
  beforeAll(async () => {
    driven.driver = await start();
    if (driven.driver === undefined) noteSkip(`the contract of the state on ${name}`, redisSkipReason);
  });
  afterAll(() => driven.driver?.stop());
  beforeEach(async (context) => {
    if (driven.driver === undefined) return context.skip(`no ${name}`);
    await driven.driver.reset();
    await openEpoch(driven.state);
  });
  return driven;
}

export const amounts = (heldNusd: bigint, unbookedNusd: bigint) => expect.objectContaining({ heldNusd, unbookedNusd });
export const result = (name: string, more: object = {}) => expect.objectContaining({ result: name, ...more });
