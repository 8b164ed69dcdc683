import { randomBytes, randomUUID } from 'node:crypto';
import { type AccountRef, type Settlement, type SettlementEntry, sealAccountRef, signSettlement } from '@sotto/state';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { BookingResult } from '../ledger/book-settlements.ts';
import type { AttributedSettlement } from '../ledger/record-usage.ts';
import { buildSettlement, Settler, type SettlerDependencies } from './settler.ts';

const settlementMacKey = randomBytes(32);
const accountRefKey = randomBytes(32);
const nobody = 'nobody';

interface Stage {
  readonly settler: Settler;
  /** Leaves a charge of an account in a shard's stream. */
  leave(shard: number, accountId: string): void;
  /** Tells those who watch that a stream has a first entry. */
  announce(): void;
  /** The charges of each booking so far, by account, and how each ends. */
  readonly bookings: { readonly accounts: readonly string[]; commit(): void; fail(error: Error): void }[];
  /** The news of each shard: the wallets with their holds, and the forgotten notes. */
  readonly told: { readonly shard: number; readonly wallet?: string; readonly holds: number }[];
  /** The shards whose streams were read. */
  readonly reads: readonly number[];
  readonly acknowledged: number[];
}

function stage(): Stage {
  const streams = new Map<number, SettlementEntry[]>();
  const bookings: Stage['bookings'] = [];
  const told: Stage['told'] = [];
  const acknowledged: number[] = [];
  const reads: number[] = [];
  const watchers: (() => void)[] = [];
  const reader = { client: 'control', epoch: 1 };
  const quiet = (): void => {};
  const state: SettlerDependencies['state'] = {
    membership: { isCurrent: () => true, isJoined: () => true },
    async takeSettlements(shard, after) {
      reads.push(shard);
      return {
        entries: (streams.get(shard) ?? []).filter(({ streamId }) => placeOf(streamId) > placeOf(after)),
        reader,
      };
    },
    book: async ({ wallet, holdIds }) =>
      void told.push({ shard: wallet.shard, wallet: wallet.walletId, holds: holdIds.length }),
    watchSettlements: (wake) => ({ start: () => void watchers.push(wake), stop: quiet }),
    forget: async (shard, holdIds) => void (holdIds.length > 0 && told.push({ shard, holds: holdIds.length })),
    acknowledge: async (shard) => void acknowledged.push(shard),
  };
  const ledger = {
    book: (batch: readonly AttributedSettlement[]) =>
      new Promise<BookingResult>((resolve, reject) => {
        const accounts = batch.map(({ owner }) => owner?.accountId ?? nobody);
        bookings.push({ accounts, commit: () => resolve(resultOf(batch)), fail: reject });
      }),
    setAside: async () => {},
    setAsideAfter: async () => [],
    rebook: async () => {},
    isRefusal: () => false,
    isHeldUp: (error: unknown) => error instanceof HeldUp,
  };
  const settler = new Settler({
    ledger,
    state,
    settlementMacKey,
    accountRefKey,
    events: { used: quiet, shortfall: quiet, waived: quiet, booked: quiet, settlementRejected: quiet },
  });
  const leave: Stage['leave'] = (shard, accountId) => {
    const owner: AccountRef = { accountId, workspaceId: randomUUID(), keyId: randomUUID() };
    const accountRef = accountId === nobody ? 'unreadable' : sealAccountRef(accountRefKey, owner);
    const settlement: Settlement = {
      ...{
        v: 1,
        id: randomUUID(),
        kind: 'charge',
        accountRef,
        chargeNusd: '5',
        at: 0,
        operation: 'chat',
        model: 'm/one',
      },
      ...{ provider: 'acme', privacyClass: 'private', promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
      ...{ reasoningTokens: 0, attempts: 1, fallback: false, status: 'completed', estimated: false, month: '1970-01' },
    };
    const entries = streams.get(shard) ?? [];
    entries.push({ streamId: `1-${entries.length + 1}`, ...signSettlement(settlementMacKey, settlement) });
    streams.set(shard, entries);
  };
  const announce: Stage['announce'] = () => {
    for (const wake of watchers) wake();
  };
  return { settler, leave, announce, bookings, told, reads, acknowledged };
}

/** What the ledger throws if another transaction holds an account. */
class HeldUp extends Error {}

const placeOf = (streamId: string): number => Number(streamId.split('-')[1]);

function resultOf(batch: readonly AttributedSettlement[]): BookingResult {
  const idsOf = (accountId: string | undefined): string[] =>
    batch.filter(({ owner }) => owner?.accountId === accountId).map(({ settlement }) => settlement.id);
  const accounts = [...new Set(batch.flatMap(({ owner }) => owner?.accountId ?? []))];
  return {
    wallets: accounts.map((accountId) => ({
      ...{ accountId, walletId: `wallet of ${accountId}`, balanceNusd: 1n, version: 1, keys: [], budgets: [] },
      holdIds: idsOf(accountId),
    })),
    unattributedHoldIds: idsOf(undefined),
    ...{ booked: batch.length, shortfallNusd: 0n, waivedNusd: 0n },
    used: { inputTokens: 0, outputTokens: 0, chargedNusd: 0n },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const [ann, bob, cleo] = ['1', '2', '3'].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`) as [
  string,
  string,
  string,
];

it('books the shards that wait in one transaction, and tells each shard of its own wallets and notes', async () => {
  const { settler, leave, bookings, told, acknowledged } = stage();
  leave(1, ann);
  const first = settler.settleShard(1);
  await turn();
  leave(2, bob);
  leave(2, bob);
  leave(3, cleo);
  leave(3, nobody);
  const others = [settler.settleShard(2), settler.settleShard(3)];
  await turn();
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann]]);
  bookings[0]?.commit();
  await first;
  await turn();
  expect(bookings[1]?.accounts).toEqual([bob, bob, cleo, nobody]);
  expect(acknowledged).toEqual([1]);
  bookings[1]?.commit();
  await Promise.all(others);
  expect(told.toSorted((a, b) => a.shard - b.shard)).toEqual([
    { shard: 1, wallet: `wallet of ${ann}`, holds: 1 },
    { shard: 2, wallet: `wallet of ${bob}`, holds: 2 },
    { shard: 3, wallet: `wallet of ${cleo}`, holds: 1 },
    { shard: 3, holds: 1 },
  ]);
  expect(acknowledged.toSorted()).toEqual([1, 2, 3]);
});

it('books for all who wait at a shard what came before the booking began', async () => {
  const { settler, leave, bookings, reads } = stage();
  leave(1, ann);
  const first = settler.settleShard(1);
  await turn();
  leave(1, bob);
  const second = settler.settleShard(1);
  leave(1, cleo);
  const third = settler.settleShard(1);
  bookings[0]?.commit();
  await first;
  await turn();
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann], [bob, cleo]]);
  bookings[1]?.commit();
  await Promise.all([second, third]);
  expect(reads).toEqual([1, 1]);
});

it('acknowledges nothing of a booking that failed, and books it with the next', async () => {
  const { settler, leave, bookings, acknowledged } = stage();
  leave(1, ann);
  const failed = settler.settleShard(1);
  await turn();
  bookings[0]?.fail(new Error('no database'));
  await expect(failed).rejects.toThrow('no database');
  expect(acknowledged).toEqual([]);
  const again = settler.settleShard(1);
  await turn();
  bookings[1]?.commit();
  await again;
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann], [ann]]);
  expect(acknowledged).toEqual([1]);
});

it('an account that is held up holds up only its own shard', async () => {
  const { settler, leave, bookings, acknowledged } = stage();
  for (const [shard, accountId] of [ann, bob, cleo].entries()) leave(shard, accountId);
  const all = Promise.allSettled([0, 1, 2].map((shard) => settler.settleShard(shard)));
  await turn();
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann, bob, cleo]]);
  bookings[0]?.fail(new HeldUp());
  for (const [at, accountId] of [ann, bob, cleo].entries()) {
    await turn();
    const booking = bookings[at + 1];
    expect(booking?.accounts).toEqual([accountId]);
    if (accountId === bob) booking?.fail(new HeldUp());
    else booking?.commit();
  }
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(acknowledged).toEqual([0, 2]);
  // The next charges do not wait together with the one that is held up.
  leave(2, cleo);
  const again = [settler.settleShard(1), settler.settleShard(2)];
  await turn();
  expect(bookings.at(-1)?.accounts).toEqual([bob]);
  bookings.at(-1)?.commit();
  await turn();
  expect(bookings.at(-1)?.accounts).toEqual([cleo]);
  bookings.at(-1)?.commit();
  await Promise.all(again);
});

it('books what is announced at once, and what came to the same stream meanwhile without an announcement', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { settler, leave, announce, bookings } = stage();
  const tasks = buildSettlement({
    settler,
    metrics: { settledAt: { set: () => {} } },
    now: () => 0,
    isAlone: false,
  }).tasks(() => (error) => {
    throw error;
  });
  for (const task of tasks) task.start();
  await turn();
  leave(1, ann);
  announce();
  await vi.advanceTimersByTimeAsync(100);
  await turn();
  leave(1, bob);
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann]]);
  bookings[0]?.commit();
  await turn();
  await vi.advanceTimersByTimeAsync(100);
  await turn();
  expect(bookings.map(({ accounts }) => accounts)).toEqual([[ann], [bob]]);
  bookings[1]?.commit();
  for (const task of tasks) await task.stop();
});
