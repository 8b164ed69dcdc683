import type { MeasurementBatch, Penalty, RegistryPublic } from '@sotto/router';
import {
  assertReceipt,
  lateMs,
  maxMeasurementRecords,
  measurementPageRecords,
  measurementsKeptHours,
} from '../bounds.ts';
import { brokerClient, Membership } from '../membership/membership.ts';
import type { KeyProjection, MeasurementPage, State } from '../ports/index.ts';
import type { CatalogSnapshot } from '../records.ts';
import { indexShardOfKey, shards } from '../shard.ts';
import { shardOf } from '../steps/step.ts';
import { type KeyIndex, type Run, secretHashesOf, steppedState } from '../steps/stepped-state.ts';
import { steps } from '../steps/steps.ts';
import { StateUnavailableError } from '../unavailable.ts';
import { type Endings, endAt, takeEnded } from './endings.ts';
import { ShardState, type ShardSteps } from './shard-state.ts';
import { Watchers } from './watchers.ts';

/** The shared state in memory: one per service. */
export class MemoryStore {
  readonly shards: readonly ShardState[];
  readonly index: MemoryKeyIndex;
  readonly penalties = new Map<string, Penalty>();
  readonly measurements = new MeasurementStore();
  readonly receipts: ReceiptStore;
  catalog: CatalogSnapshot | undefined;
  registry: RegistryPublic | undefined;
  readonly settled = new Watchers();
  readonly joined = new Watchers();
  readonly published = new Watchers();

  constructor(now: () => number) {
    this.shards = shards.map(() => new ShardState(now, () => this.joined.wake()));
    this.receipts = new ReceiptStore(now);
    this.index = new MemoryKeyIndex(now);
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
  const run: Run = async (name, asked) => {
    const { kind } = steps[name];
    const shard = shardOf(asked);
    const caller = membership.caller(shard);
    const guarded = await carry(() => {
      const state = store.shard(shard);
      const effects: ShardSteps = state;
      if (kind === 'none') return { count: 0, changed: 0, answer: effects[name](asked, { caller, change: () => {} }) };
      return state.guarded(kind, caller, (change) => effects[name](asked, { caller, change }));
    });
    return membership.take(shard, caller, guarded);
  };
  const stepped = steppedState(run, { membership, index: store.index });
  const isOpen = (): boolean => store.shards.every((shard) => shard.isOpen);

  return {
    membership,
    ...stepped,
    async settle(request) {
      const place = await stepped.settle(request);
      if (place !== undefined) store.settled.wake();
      return place;
    },
    isOpen: () => carry(isOpen),
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
    readWallet: (shard, walletId) => carry(() => store.shard(shard).readWallet(walletId)),
    readSettlements: (shard, afterId, limit) => carry(() => store.shard(shard).readSettlements(afterId, limit)),
    watchSettlements: (wake) => store.settled.watch(wake),
    watchMembers: (wake) => store.joined.watch(wake),
    watchPublished: (wake) => store.published.watch(wake),
    readNotes: (shard) => carry(() => store.shard(shard).readNotes()),

    async publishCatalog(snapshot) {
      if (store.catalog !== undefined && snapshot.version <= store.catalog.version) return;
      store.catalog = snapshot;
      store.published.wake();
    },
    catalogVersion: async () => store.catalog?.version,
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

/** The key of each secret, by the secret's hash. Entries of removed keys and of ended secrets end as in Redis. */
class MemoryKeyIndex implements KeyIndex {
  readonly #now: () => number;
  readonly #entries = new Map<string, Pick<KeyProjection, 'shard' | 'keyHash'>>();
  readonly #endings: Endings = new Map();

  constructor(now: () => number) {
    this.#now = now;
  }

  find(secretHash: string): Pick<KeyProjection, 'shard' | 'keyHash'> | undefined {
    for (const ended of takeEnded(this.#endings, this.#now())) this.#entries.delete(ended);
    return this.#entries.get(secretHash);
  }

  async put({ shard, keyHash, secrets }: Parameters<KeyIndex['put']>[0]): Promise<void> {
    for (const hash of secretHashesOf({ keyHash, secrets })) {
      this.#entries.set(hash, { shard, keyHash });
      this.#endings.delete(hash);
    }
  }

  async end(hashes: readonly string[]): Promise<void> {
    for (const hash of hashes) endAt(this.#endings, hash, this.#now() + lateMs);
  }
}

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
