import type { Penalty, RegistryPublic } from '@sotto/router';
import {
  assertBooked,
  assertKey,
  assertMint,
  assertReceipt,
  assertRedeem,
  assertSettle,
  assertWallet,
} from '../bounds.ts';
import { brokerClient, type Guarded, Membership } from '../membership/membership.ts';
import type { State } from '../ports.ts';
import type { CatalogSnapshot } from '../records.ts';
import { indexShardOfKey, shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { MeasurementStore } from './measurement-store.ts';
import { ReceiptStore } from './receipt-store.ts';
import { ShardState, type Step, type StepKind } from './shard-state.ts';

/** What the processes share: one of these a service. */
export class MemoryStore {
  readonly shards: readonly ShardState[];
  /** The shard of each key, by its hash. */
  readonly index = new Map<string, number>();
  readonly penalties = new Map<string, Penalty>();
  readonly measurements = new MeasurementStore();
  readonly receipts: ReceiptStore;
  catalog: CatalogSnapshot | undefined;
  registry: RegistryPublic | undefined;

  constructor(now: () => number) {
    this.shards = shards.map(() => new ShardState(now));
    this.receipts = new ReceiptStore(now);
  }

  shard(shard: number): ShardState {
    const state = this.shards[shard];
    if (state === undefined) throw new StateUnavailableError('no such shard');
    return state;
  }
}

export interface MemoryStateOptions {
  readonly store: MemoryStore;
  /** Makes the random name of an incarnation; by default a broker's. */
  readonly newClient?: () => string;
  /** How a call reaches the store: at once, but for simulations, where calls are late, lost and repeated. */
  readonly carry?: <T>(run: () => T) => Promise<T>;
}

/** One process' view of the state in memory: for embedded mode, for simulations, and as the oracle of the scripts. */
export function createMemoryState({
  store,
  newClient = brokerClient,
  carry = async (run) => run(),
}: MemoryStateOptions): State {
  const membership = new Membership(newClient);
  const on = <T>(shard: number, run: (state: ShardState) => T): Promise<T> => carry(() => run(store.shard(shard)));
  const ask = async <T>(shard: number, run: (state: ShardState) => Guarded<T>): Promise<T> => {
    const caller = membership.caller(shard);
    return membership.take(shard, caller, await on(shard, run));
  };
  const step = <T>(kind: StepKind, shard: number, run: Step<T>): Promise<T> => {
    const caller = membership.caller(shard);
    return ask(shard, (state) => state.guarded(kind, caller, run));
  };
  const isOpen = (): boolean => store.shards.every((shard) => shard.isOpen);

  return {
    membership,
    async join(shard, request) {
      const caller = membership.caller(shard);
      const reply = await ask(shard, (state) => state.join(caller, request));
      if (reply.result === 'joined') membership.joined(shard, caller, reply.leaseUntil);
      return reply;
    },
    leave: (shard) => step('project', shard, (state, caller) => state.leave(caller)),

    readMembers: (shard) => on(shard, (state) => state.members),
    beginEpoch: (shard, epoch) => on(shard, (state) => state.beginEpoch(epoch)),
    admitDeclared: (shard, client, restored) =>
      step('project', shard, (state, _, change) => state.admitDeclared(client, restored.leaseMs, restored, change)),
    openEpoch: (shard) => step('project', shard, (state, _, change) => state.openEpoch(change)),
    discardEpoch: (shard, epoch) => on(shard, (state) => state.discardEpoch(epoch)),
    isOpen: () => carry(isOpen),
    reap: (shard, graceMs) => on(shard, (state) => state.reap(graceMs)),

    lookupKey: (keyHash) =>
      carry(() => {
        const shard = store.index.get(keyHash);
        if (shard === undefined) {
          if (!store.shard(indexShardOfKey(keyHash)).isOpen) throw new StateUnavailableError('not projected');
          return undefined;
        }
        const projection = store.shard(shard).key(keyHash)?.projection;
        if (projection === undefined) throw new StateUnavailableError('not projected');
        return projection.active ? { record: projection.record, generation: projection.generation, shard } : undefined;
      }),
    peek: (asked) => on(asked.shard, (state) => state.peek(asked)),
    async redeem(request) {
      assertRedeem(request);
      const caller = membership.caller(request.shard);
      const reply = await step('admit', request.shard, (state, by, change) => state.redeem(request, by, change));
      membership.assertCurrent(request.shard, caller);
      return reply;
    },
    cancel: (shard, holdId) => step('settle', shard, (state, _, change) => state.cancel(holdId, change)),
    readOwnHolds: (shard) => on(shard, (state) => state.holdsOf(membership.caller(shard).client)),
    async settle(request) {
      assertSettle(request);
      return step('settle', request.shard, (state, _, change) => state.settle(request, change));
    },
    watermark: (shard) => step('settle', shard, (state) => state.watermark()),

    async putWallet(funds) {
      assertWallet(funds);
      await step('project', funds.shard, (state, _, change) => state.putWallet(funds, change));
    },
    async putKey(key) {
      assertKey(key);
      await step('project', key.shard, (state, _, change) => state.putKey(key, change));
      store.index.set(key.keyHash, key.shard);
    },
    indexKey: ({ keyHash, shard }) =>
      carry(() => {
        store.index.set(keyHash, shard);
      }),
    async mint(request) {
      assertMint(request);
      return step('admit', request.shard, (state, _, change) => state.mint(request, change));
    },
    readWallet: (shard, walletId) => on(shard, (state) => state.readWallet(walletId)),
    readSettlements: (shard, afterId, limit) => on(shard, (state) => state.readSettlements(afterId, limit)),
    readBooks: (shard, { walletIds, keyHashes }) => on(shard, (state) => state.readBooks(walletIds, keyHashes)),
    readNotes: (shard) => on(shard, (state) => state.readNotes()),
    async book(charges) {
      assertBooked(charges);
      await step('project', charges.wallet.shard, (state, _, change) => state.book(charges, change));
    },
    forget: (shard, holdIds) => step('project', shard, (state, _, change) => state.forget(holdIds, change)),
    acknowledge: (shard, streamId) => step('project', shard, (state, _, change) => state.acknowledge(streamId, change)),

    async publishCatalog(snapshot) {
      if (store.catalog === undefined || snapshot.version > store.catalog.version) store.catalog = snapshot;
    },
    readCatalog: async (knownVersion) =>
      store.catalog !== undefined && store.catalog.version > knownVersion ? store.catalog : undefined,
    async publishRegistry(published) {
      store.registry = published;
    },
    readRegistry: async () => store.registry,

    readPenalties: async () => new Map(store.penalties),
    async updatePenalty(key, next) {
      store.penalties.set(key, next(store.penalties.get(key)));
    },
    shareMeasurements: async (batch) => store.measurements.share(batch),
    readMeasurements: async (hour, cursor) => store.measurements.read(hour, cursor),

    async keepReceipt(kind, id, document, ttlMs) {
      assertReceipt({ id, document, ttlMs });
      await carry(() => store.receipts.keep(`${kind}:${id}`, document, ttlMs));
    },
    readReceipt: (kind, id) => carry(() => store.receipts.read(`${kind}:${id}`)),

    isReady: async () => isOpen(),
    async close() {},
  };
}
