import type { MeasurementBatch, Penalty, RegistryPublic } from '@sotto/router';
import {
  assertBooked,
  assertBudget,
  assertKey,
  assertMint,
  assertReceipt,
  assertRedeem,
  assertRemoved,
  assertReserve,
  assertSettle,
  assertVersion,
  assertWallet,
  lateMs,
  maxMeasurementRecords,
  measurementPageRecords,
  measurementsKeptHours,
} from '../bounds.ts';
import { brokerClient, type Guarded, Membership } from '../membership/membership.ts';
import type { KeyProjection, MeasurementPage, ProjectionPort, State } from '../ports/index.ts';
import type { CatalogSnapshot } from '../records.ts';
import { indexShardOfKey, shards } from '../shard.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { type Endings, endAt, takeEnded } from './endings.ts';
import { ShardState, type Step, type StepKind } from './shard-state.ts';
import { Watchers } from './watchers.ts';

/** The shared state in memory: one per service. */
export class MemoryStore {
  readonly shards: readonly ShardState[];
  readonly index: KeyIndex;
  readonly penalties = new Map<string, Penalty>();
  readonly measurements = new MeasurementStore();
  readonly receipts: ReceiptStore;
  catalog: CatalogSnapshot | undefined;
  registry: RegistryPublic | undefined;
  readonly settled = new Watchers();
  readonly published = new Watchers();

  constructor(now: () => number) {
    this.shards = shards.map(() => new ShardState(now));
    this.receipts = new ReceiptStore(now);
    this.index = new KeyIndex(now);
  }

  shard(shard: number): ShardState {
    const state = this.shards[shard];
    if (state === undefined) throw new StateUnavailableError('no such shard');
    return state;
  }
}

export interface MemoryStateOptions {
  readonly store: MemoryStore;
  /** Creates the random name of an incarnation. Default: a broker's. */
  readonly newClient?: () => string;
  /** How a call reaches the store. Default: at once. Simulations delay, lose and repeat calls. */
  readonly carry?: <T>(run: () => T) => Promise<T>;
}

/** One process' view of the in-memory state, for embedded mode, for simulations and as the reference for the scripts. */
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
      step('project', shard, (state, _, change) => state.admitDeclared(client, restored, change)),
    openEpoch: (shard) => step('project', shard, (state, _, change) => state.openEpoch(change)),
    discardEpoch: (shard, epoch) => on(shard, (state) => state.discardEpoch(epoch)),
    isOpen: () => carry(isOpen),
    reap: (shard, graceMs) => on(shard, (state) => state.reap(graceMs)),

    lookupKey: (secretHash) =>
      carry(() => {
        const found = store.index.find(secretHash);
        if (found === undefined) {
          if (!store.shard(indexShardOfKey(secretHash)).isOpen) throw new StateUnavailableError('not projected');
          return undefined;
        }
        const { shard, keyHash } = found;
        const key = store.shard(shard).lookup(shard, keyHash, secretHash);
        return key === undefined || secretHash === keyHash ? key : { ...key, keyHash };
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
      const place = await step('settle', request.shard, (state, _, change) => state.settle(request, change));
      if (place !== undefined) store.settled.wake();
      return place;
    },
    watermark: (shard) => step('settle', shard, (state) => state.watermark()),

    async putWallet(funds) {
      assertWallet(funds);
      await step('project', funds.shard, (state, _, change) => state.putWallet(funds, change));
    },
    async putKey(key) {
      assertKey(key);
      const isLacking = await step('project', key.shard, (state, _, change) => state.putKey(key, change));
      if (isLacking !== undefined) store.index.put(key);
      return isLacking === true;
    },
    async removeKey(key) {
      assertRemoved(key);
      const isRemoved = await step('project', key.shard, (state, _, change) => state.removeKey(key, change));
      if (isRemoved) store.index.end(key);
    },
    async putWorkspace(workspace) {
      assertVersion(workspace);
      await step('project', workspace.shard, (state, _, change) => state.putWorkspace(workspace, change));
    },
    async removeBudget(budget) {
      assertVersion(budget);
      await step('project', budget.shard, (state, _, change) => state.removeBudget(budget, change));
    },
    async putBudget(budget) {
      assertBudget(budget);
      await step('project', budget.shard, (state, _, change) => state.putBudget(budget, change));
    },
    indexKey: (key) => carry(() => store.index.put(key)),
    async mint(request) {
      assertMint(request);
      return step('admit', request.shard, (state, _, change) => state.mint(request, change));
    },
    readWallet: (shard, walletId) => on(shard, (state) => state.readWallet(walletId)),
    readSettlements: (shard, afterId, limit) => on(shard, (state) => state.readSettlements(afterId, limit)),
    watchSettlements: (wake) => store.settled.watch(wake),
    watchPublished: (wake) => store.published.watch(wake),
    takeSettlements: (shard, afterId, limit) =>
      step('project', shard, (state, reader, change) => {
        const entries = state.readSettlements(afterId, limit);
        if (entries.length > 0) change();
        return { entries, reader };
      }),
    readBooks: (shard, wanted) => on(shard, (state) => state.readBooks(wanted)),
    readNotes: (shard) => on(shard, (state) => state.readNotes()),
    async book(charges) {
      assertBooked(charges);
      await step('project', charges.wallet.shard, (state, _, change) => state.book(charges, change));
    },
    async reserve(request) {
      assertReserve(request);
      return step('admit', request.shard, (state, _, change) => state.reserve(request, change));
    },
    forget: (shard, holdIds) => step('project', shard, (state, _, change) => state.forget(holdIds, change)),
    async acknowledge(shard, streamId, reader) {
      membership.assertCurrent(shard, reader);
      await step('project', shard, (state, _, change) => state.acknowledge(streamId, change));
    },

    async publishCatalog(snapshot) {
      if (store.catalog !== undefined && snapshot.version <= store.catalog.version) return;
      store.catalog = snapshot;
      store.published.wake();
    },
    readCatalog: async (knownVersion) =>
      store.catalog !== undefined && store.catalog.version > knownVersion ? store.catalog : undefined,
    async publishRegistry(published) {
      store.registry = published;
      store.published.wake();
    },
    readRegistry: async () => store.registry,

    readPenalties: async () => new Map(store.penalties),
    async updatePenalty(key, next) {
      store.penalties.set(key, next(store.penalties.get(key)));
      store.published.wake();
    },
    shareMeasurements: async (batch) => store.measurements.share(batch),
    readMeasurements: async (hour, cursor) => store.measurements.read(hour, cursor),

    async keepReceipt(kind, id, document, ttlMs) {
      assertReceipt({ id, document, ttlMs });
      await carry(() => store.receipts.keep(`${kind}:${id}`, document, ttlMs));
    },
    readReceipt: (kind, id) => carry(() => store.receipts.read(`${kind}:${id}`)),

    readMemory: async () => undefined,
    isReady: async () => isOpen(),
    async close() {},
  };
}

type Indexed = Pick<KeyProjection, 'shard' | 'keyHash'>;

/** The key of each secret, by the secret's hash. Entries of removed keys and of ended secrets end as in Redis. */
class KeyIndex {
  readonly #now: () => number;
  readonly #entries = new Map<string, Indexed>();
  /** The secrets that each key has entries for. */
  readonly #hashes = new Map<string, readonly string[]>();
  readonly #endings: Endings = new Map();

  constructor(now: () => number) {
    this.#now = now;
  }

  find(secretHash: string): Indexed | undefined {
    for (const ended of takeEnded(this.#endings, this.#now())) this.#entries.delete(ended);
    return this.#entries.get(secretHash);
  }

  put({ shard, ...key }: Parameters<ProjectionPort['indexKey']>[0]): void {
    const hashes = hashesOf(key);
    const before = this.#hashes.get(key.keyHash) ?? [];
    this.#end(before.filter((hash) => !hashes.includes(hash)));
    this.#hashes.set(key.keyHash, hashes);
    for (const hash of hashes) {
      this.#entries.set(hash, { shard, keyHash: key.keyHash });
      this.#endings.delete(hash);
    }
  }

  end(key: Pick<KeyProjection, 'keyHash' | 'secrets'>): void {
    this.#hashes.delete(key.keyHash);
    this.#end(hashesOf(key));
  }

  #end(hashes: readonly string[]): void {
    for (const hash of hashes) endAt(this.#endings, hash, this.#now() + lateMs);
  }
}

const hashesOf = ({ keyHash, secrets = [] }: Pick<KeyProjection, 'keyHash' | 'secrets'>): readonly string[] => [
  keyHash,
  ...secrets.map(({ secretHash }) => secretHash),
];

/** Shared receipts in memory. Each expires as in Redis. */
class ReceiptStore {
  readonly #now: () => number;
  /** Oldest first, because all of a kind are kept for the same time. */
  readonly #receipts = new Map<string, { readonly document: string; readonly expiresAt: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  keep(name: string, document: string, ttlMs: number): void {
    for (const [old, { expiresAt }] of this.#receipts) {
      if (expiresAt > this.#now()) break;
      this.#receipts.delete(old);
    }
    this.#receipts.delete(name);
    this.#receipts.set(name, { document, expiresAt: this.#now() + ttlMs });
  }

  read(name: string): string | undefined {
    const receipt = this.#receipts.get(name);
    return receipt !== undefined && receipt.expiresAt > this.#now() ? receipt.document : undefined;
  }
}

interface Hour {
  count: number;
  /** In the order of their last changes. */
  readonly records: Map<string, MeasurementPage['records'][number] & { readonly changed: number }>;
}

/** Shared measurements in memory. Does what the scripts do in Redis. */
class MeasurementStore {
  readonly #hours = new Map<number, Hour>();

  share({ hour: at, source, records }: MeasurementBatch): void {
    const hour = this.#hours.get(at) ?? { count: 0, records: new Map() };
    if (records.size > 0) this.#hours.set(at, hour);
    for (const [routeId, record] of records) {
      const field = `${source}|${routeId}`;
      const isKnown = hour.records.delete(field);
      if (!isKnown && hour.records.size >= maxMeasurementRecords) continue;
      hour.count += 1;
      hour.records.set(field, { source, routeId, record, changed: hour.count });
    }
    for (const old of this.#hours.keys()) if (old < at - measurementsKeptHours) this.#hours.delete(old);
  }

  read(at: number, cursor: string | undefined): MeasurementPage {
    let since = Number(cursor ?? 0);
    const records: MeasurementPage['records'][number][] = [];
    for (const { changed, ...found } of this.#hours.get(at)?.records.values() ?? []) {
      if (changed <= since) continue;
      since = changed;
      records.push(found);
      if (records.length === measurementPageRecords) return { records, cursor: String(since), isLast: false };
    }
    return { records, cursor: String(since), isLast: true };
  }
}
