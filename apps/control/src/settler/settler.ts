import { repeat, type Task } from '@sotto/server';
import {
  type AccountRef,
  forAllReachable,
  type Keys,
  openAccountRef,
  type SettlementEntry,
  type SettlementReader,
  type State,
  shards,
  verifySettlement,
} from '@sotto/state';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import type { BookingResult } from '../ledger/book-settlements.ts';
import type { AttributedSettlement } from '../ledger/record-usage.ts';
import type { RejectionReason, SettlementLedger } from '../ledger/settlement-ledger.ts';
import type { ControlMetrics } from '../metrics/control-metrics.ts';
import { GroupRun } from './group-run.ts';

export interface SettlerDependencies {
  readonly ledger: SettlementLedger;
  readonly state: Pick<State, 'takeSettlements' | 'watchSettlements' | 'book' | 'forget' | 'acknowledge'> & {
    readonly membership: Pick<State['membership'], 'isCurrent' | 'isJoined'>;
  };
  readonly settlementMacKey: Keys;
  readonly accountRefKey: Keys;
  readonly events: Pick<ControlEvents, 'used' | 'shortfall' | 'waived' | 'booked' | 'settlementRejected'>;
  /** Called after charges were booked. */
  readonly onBooked?: () => void;
}

/** Settlements of this time are booked together. */
const gatherMs = 50;
/** The interval for settlements that nothing announced, such as those whose booking failed before. */
const unaskedMs = 5_000;
/**
 * The interval for retrying settlements that were set aside. They are also retried at the start, because a new version, or a
 * key that came back, may be able to book them.
 */
const rebookMs = 3_600_000;
const batchSize = 500;
/** The settlements after which no further shard joins a booking. */
const bookingSize = 2000;
/** How long the shards book on their own after an account was held up. */
const apartMs = 60_000;

interface VerifiedSettlement extends AttributedSettlement {
  readonly shard: number;
  readonly entry: SettlementEntry;
}

/**
 * Carries settlements from the shards’ streams into the ledger. It books them in Postgres, writes the result to the
 * state, then moves the watermark. After a stop at any point it continues from the watermark, and books nothing twice.
 */
export class Settler {
  readonly #deps: SettlerDependencies;
  /** The last entry that was booked per shard, and who read it. */
  readonly #position = new Map<number, { readonly streamId: string; readonly reader: SettlementReader }>();
  readonly #running = new Map<number, Promise<number>>();
  /** The batch of each shard that waits for the one that runs. It reads the stream when it begins. */
  readonly #waiting = new Map<number, Promise<number>>();
  /** One transaction of Postgres at a time, each with all shards that wait. */
  readonly #bookings = new GroupRun<VerifiedSettlement, readonly BookingResult[]>(
    (batch) => this.#book(batch),
    bookingSize,
  );
  /** Each shard in a transaction of its own, so that an account that is held up holds up only its shard. */
  readonly #ownBookings = new GroupRun<VerifiedSettlement, readonly BookingResult[]>((batch) => this.#book(batch), 1);
  /** The time until which each shard books on its own, of `performance.now()`. */
  #apartUntil = Number.NEGATIVE_INFINITY;

  constructor(deps: SettlerDependencies) {
    this.#deps = deps;
  }

  /** Whether this process is a member of every shard, so that it can read each stream. */
  get isJoined(): boolean {
    return shards.every((shard) => this.#deps.state.membership.isJoined(shard));
  }

  /** Returns a task that calls `wake` when there is something to book. */
  watch(wake: () => void): Task {
    const { start, stop } = this.#deps.state.watchSettlements(wake);
    return { start, stop: async () => stop() };
  }

  /** Books a batch of every shard that this process has joined. Resolves to whether it had any settlements, and whether there may be more. */
  async settleAll(): Promise<{ readonly isAny: boolean; readonly isMore: boolean }> {
    let largest = 0;
    const joined = shards.filter((shard) => this.#deps.state.membership.isJoined(shard));
    const failure = await forAllReachable(joined, async (shard) => {
      largest = Math.max(largest, await this.#nextBatch(shard));
    });
    if (failure !== undefined) throw failure;
    return { isAny: largest > 0, isMore: largest === batchSize };
  }

  /**
   * Books one batch of a shard, one batch at a time per shard. The batch has everything that was in the stream before the call, up to
   * its size. Callers that wait for the same batch share it. Resolves to whether there may be more.
   */
  async settleShard(shard: number): Promise<boolean> {
    return (await this.#nextBatch(shard)) === batchSize;
  }

  #nextBatch(shard: number): Promise<number> {
    const waiting = this.#waiting.get(shard);
    if (waiting !== undefined) return waiting;
    const next = this.#next(shard, () => {
      this.#waiting.delete(shard);
      return this.#batch(shard);
    });
    this.#waiting.set(shard, next);
    return next;
  }

  /** Books everything in a shard’s stream, from its beginning. */
  async drain(shard: number): Promise<void> {
    await this.#next(shard, async () => {
      this.#position.delete(shard);
      while ((await this.#batch(shard)) === batchSize);
      return 0;
    });
  }

  /**
   * Books settlements that were set aside, if their MAC is right by now and this version of the ledger can. A settlement that
   * was booked before changes nothing, so this may be interrupted at any point.
   */
  async rebook(): Promise<void> {
    const { ledger, settlementMacKey } = this.#deps;
    // All pages: those that still cannot be booked must not keep the others from being read.
    let page = await ledger.setAsideAfter(undefined);
    for (; page.length > 0; page = await ledger.setAsideAfter(page.at(-1)?.id)) {
      for (const { id, shard, ...signed } of page) {
        const settlement = verifySettlement(settlementMacKey, signed);
        if (typeof settlement === 'string') continue;
        const book = async (): Promise<void> => {
          const booked = await ledger.book([{ settlement, owner: this.#owner(settlement.accountRef) }]);
          this.#tellBooked(booked);
          await this.#tell(shard, [booked]);
        };
        await ledger.rebook(id, book).catch((error: unknown) => {
          if (!ledger.isRefusal(error)) throw error;
        });
      }
    }
  }

  #next(shard: number, run: () => Promise<number>): Promise<number> {
    const before = this.#running.get(shard) ?? Promise.resolve(0);
    const next = before.catch(() => 0).then(run);
    this.#running.set(shard, next);
    return next;
  }

  async #batch(shard: number): Promise<number> {
    const { state, events } = this.#deps;
    const position = this.#position.get(shard);
    // After a new epoch or incarnation, the stream may be another with smaller ids, so it is read from its beginning.
    const isSame = position !== undefined && state.membership.isCurrent(shard, position.reader);
    const { entries, reader } = await state.takeSettlements(shard, isSame ? position.streamId : '0-0', batchSize);
    const last = entries.at(-1);
    if (last === undefined) return 0;
    const { verified, rejected } = this.#read(shard, entries);
    for (const { entry, reason } of rejected) await this.#setAside(shard, entry, reason);
    if (verified.length > 0) await this.#tell(shard, partOf(verified, await this.#enter(verified)));
    await state.acknowledge(shard, last.streamId, reader);
    this.#position.set(shard, { streamId: last.streamId, reader });
    events.booked({ shard, settlements: entries.length });
    this.#deps.onBooked?.();
    return entries.length;
  }

  /** Books with the other shards that wait, or apart from them while an account is held up. */
  async #enter(verified: readonly VerifiedSettlement[]): Promise<readonly BookingResult[]> {
    if (performance.now() < this.#apartUntil) return this.#ownBookings.add(verified);
    try {
      return await this.#bookings.add(verified);
    } catch (error) {
      if (!this.#deps.ledger.isHeldUp(error)) throw error;
      this.#apartUntil = performance.now() + apartMs;
      return this.#ownBookings.add(verified);
    }
  }

  /** Writes bookings to the state. */
  async #tell(shard: number, results: readonly BookingResult[]): Promise<void> {
    const { state } = this.#deps;
    for (const { wallets, unattributedHoldIds } of results) {
      for (const { walletId, balanceNusd, version, keys, budgets, holdIds } of wallets) {
        await state.book({ wallet: { shard, walletId, balanceNusd, version }, keys, budgets, holdIds });
      }
      await state.forget(shard, unattributedHoldIds);
    }
  }

  #tellBooked({ used, shortfallNusd, waivedNusd }: BookingResult): void {
    const { events } = this.#deps;
    events.used(used);
    if (shortfallNusd > 0n) events.shortfall({ shortfallNusd });
    if (waivedNusd > 0n) events.waived({ waivedNusd });
  }

  /**
   * Books a batch. If the database rejects a settlement’s values, that settlement is located by halving the batch, and
   * only it is set aside. All others are booked.
   */
  async #book(batch: readonly VerifiedSettlement[]): Promise<BookingResult[]> {
    const { ledger } = this.#deps;
    try {
      const booked = await ledger.book(batch);
      this.#tellBooked(booked);
      return [booked];
    } catch (error) {
      const [first] = batch;
      if (first === undefined || !ledger.isRefusal(error)) throw error;
      if (batch.length === 1) {
        await this.#setAside(first.shard, first.entry, 'unbookable');
        return [];
      }
      const half = Math.ceil(batch.length / 2);
      const before = await this.#book(batch.slice(0, half));
      return [...before, ...(await this.#book(batch.slice(half)))];
    }
  }

  async #setAside(shard: number, entry: SettlementEntry, reason: RejectionReason): Promise<void> {
    this.#deps.events.settlementRejected({ shard, streamId: entry.streamId, reason });
    await this.#deps.ledger.setAside(shard, entry, reason);
  }

  #read(
    shard: number,
    entries: readonly SettlementEntry[],
  ): { verified: VerifiedSettlement[]; rejected: { entry: SettlementEntry; reason: RejectionReason }[] } {
    const verified: VerifiedSettlement[] = [];
    const rejected: { entry: SettlementEntry; reason: RejectionReason }[] = [];
    for (const entry of entries) {
      const settlement = verifySettlement(this.#deps.settlementMacKey, entry);
      if (settlement === 'bad_mac') rejected.push({ entry, reason: 'bad_mac' });
      else if (settlement === 'unknown_form') rejected.push({ entry, reason: 'unbookable' });
      else verified.push({ shard, entry, settlement, owner: this.#owner(settlement.accountRef) });
    }
    return { verified, rejected };
  }

  #owner(accountRef: string): AccountRef | undefined {
    return openAccountRef(this.#deps.accountRefKey, accountRef);
  }
}

/** Returns what of a booking belongs to the settlements of one shard. */
function partOf(verified: readonly VerifiedSettlement[], results: readonly BookingResult[]): readonly BookingResult[] {
  const ids = new Set(verified.map(({ settlement }) => settlement.id));
  const accounts = new Set(verified.map(({ owner }) => owner?.accountId));
  const own = (holdIds: readonly string[]): readonly string[] => holdIds.filter((id) => ids.has(id));
  return results.map((result) => ({
    ...result,
    unattributedHoldIds: own(result.unattributedHoldIds),
    wallets: result.wallets
      .filter(({ accountId }) => accounts.has(accountId))
      .map((wallet) => ({ ...wallet, holdIds: own(wallet.holdIds) })),
  }));
}

export interface SettlementDependencies {
  readonly settler: Settler;
  readonly metrics: { readonly settledAt: Pick<ControlMetrics['settledAt'], 'set'> };
  readonly now: () => number;
  /** True if the broker is in this process, and asks for each booking itself. */
  readonly isAlone: boolean;
}

export const buildSettlement = ({ settler, metrics, now, isAlone }: SettlementDependencies) =>
  ({
    tasks(failed: (task: string) => (error: unknown) => void): readonly Task[] {
      const settling = repeat(
        unaskedMs,
        async () => {
          const { isAny, isMore } = await settler.settleAll();
          // Nothing announces what came meanwhile.
          if (isAny && !isAlone) settling.wake();
          if (!isMore && settler.isJoined) metrics.settledAt.set(now() / 1000);
          return isMore;
        },
        failed('settler'),
        // A shard that fails must not make the others wait.
        { gatherMs, pauseMs: gatherMs },
      );
      const rebooking = repeat(rebookMs, () => settler.rebook(), failed('rebook'));
      return isAlone ? [settling, rebooking] : [settling, settler.watch(settling.wake), rebooking];
    },
  }) satisfies Domain;
