import { repeat } from '@sotto/server';
import {
  type AccountRef,
  forAllReachable,
  type Keys,
  openAccountRef,
  parseSettlement,
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

export interface SettlerDependencies {
  readonly ledger: SettlementLedger;
  readonly state: Pick<State, 'membership' | 'takeSettlements' | 'book' | 'forget' | 'acknowledge'>;
  readonly settlementMacKey: Keys;
  readonly accountRefKey: Keys;
  readonly events: Pick<ControlEvents, 'shortfall' | 'waived' | 'booked' | 'settlementRejected'>;
}

const settleMs = 50;
/**
 * The interval for retrying settlements that were set aside as unbookable. They are also retried at the start, because
 * a new version may be able to book them.
 */
const rebookMs = 3_600_000;
const batchSize = 500;

interface VerifiedSettlement extends AttributedSettlement {
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
  readonly #running = new Map<number, Promise<boolean>>();
  /** The last booking that was begun, of any shard. They are one after the other, because each is a transaction of Postgres. */
  #booking: Promise<unknown> = Promise.resolve();

  constructor(deps: SettlerDependencies) {
    this.#deps = deps;
  }

  /** Whether this process is a member of every shard, so that it can read each stream. */
  get isJoined(): boolean {
    return shards.every((shard) => this.#deps.state.membership.isJoined(shard));
  }

  /** Books a batch of every shard that this process has joined. Resolves to whether there may be more. */
  async settleAll(): Promise<boolean> {
    let more = false;
    const joined = shards.filter((shard) => this.#deps.state.membership.isJoined(shard));
    const failure = await forAllReachable(joined, async (shard) => {
      if (await this.settleShard(shard)) more = true;
    });
    if (failure !== undefined) throw failure;
    return more;
  }

  /** Books one batch of a shard, one batch at a time per shard. */
  async settleShard(shard: number): Promise<boolean> {
    return this.#next(shard, () => this.#batch(shard));
  }

  /** Books everything in a shard’s stream, from its beginning. */
  async drain(shard: number): Promise<void> {
    await this.#next(shard, async () => {
      this.#position.delete(shard);
      while (await this.#batch(shard));
      return false;
    });
  }

  /**
   * Books settlements that were set aside as unbookable, if this version of the ledger can. A settlement that was
   * booked before changes nothing, so this may be interrupted at any point.
   */
  async rebook(): Promise<void> {
    const { ledger } = this.#deps;
    // All pages: those that still cannot be booked must not keep the others from being read.
    let page = await ledger.unbookable(undefined);
    for (; page.length > 0; page = await ledger.unbookable(page.at(-1)?.id)) {
      for (const { id, shard, payload } of page) {
        const settlement = parseSettlement(payload);
        if (settlement === undefined) continue;
        try {
          await this.#tell(shard, [await ledger.book([{ settlement, owner: this.#owner(settlement.accountRef) }])]);
        } catch (error) {
          if (ledger.isRefusal(error)) continue;
          throw error;
        }
        await ledger.rebooked(id);
      }
    }
  }

  #next(shard: number, run: () => Promise<boolean>): Promise<boolean> {
    const before = this.#running.get(shard) ?? Promise.resolve(false);
    const next = before.catch(() => false).then(run);
    this.#running.set(shard, next);
    return next;
  }

  async #batch(shard: number): Promise<boolean> {
    const { state, events } = this.#deps;
    const position = this.#position.get(shard);
    // After a new epoch or incarnation, the stream may be another with smaller ids, so it is read from its beginning.
    const isSame = position !== undefined && state.membership.isCurrent(shard, position.reader);
    const { entries, reader } = await state.takeSettlements(shard, isSame ? position.streamId : '0-0', batchSize);
    const last = entries.at(-1);
    if (last === undefined) return false;
    const results = await this.#inTurn(() => this.#enter(shard, entries));
    await this.#tell(shard, results);
    await state.acknowledge(shard, last.streamId, reader);
    this.#position.set(shard, { streamId: last.streamId, reader });
    const booked = results.reduce((sum, result) => sum + result.booked, 0);
    events.booked({ shard, settlements: entries.length, charges: booked });
    return entries.length === batchSize;
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const next = this.#booking.catch(() => {}).then(run);
    this.#booking = next;
    return next;
  }

  /** Enters a batch into the ledger. Sets aside what is not of our brokers. */
  async #enter(shard: number, entries: readonly SettlementEntry[]): Promise<BookingResult[]> {
    const { verified, rejected } = this.#read(entries);
    for (const entry of rejected) await this.#setAside(shard, entry, 'bad_mac');
    return this.#book(shard, verified);
  }

  /** Writes bookings to the state, and logs the operator’s losses. */
  async #tell(shard: number, results: readonly BookingResult[]): Promise<void> {
    const { state, events } = this.#deps;
    for (const { wallets, unattributedHoldIds, shortfallNusd, waivedNusd } of results) {
      if (shortfallNusd > 0n) events.shortfall({ shortfallNusd });
      if (waivedNusd > 0n) events.waived({ waivedNusd });
      for (const { walletId, balanceNusd, version, keys, budgets, holdIds } of wallets) {
        await state.book({ wallet: { shard, walletId, balanceNusd, version }, keys, budgets, holdIds });
      }
      await state.forget(shard, unattributedHoldIds);
    }
  }

  /**
   * Books a batch. If the database rejects a settlement’s values, that settlement is located by halving the batch, and
   * only it is set aside. All others are booked.
   */
  async #book(shard: number, batch: readonly VerifiedSettlement[]): Promise<BookingResult[]> {
    const { ledger } = this.#deps;
    try {
      return [await ledger.book(batch)];
    } catch (error) {
      const [first] = batch;
      if (first === undefined || !ledger.isRefusal(error)) throw error;
      if (batch.length === 1) {
        await this.#setAside(shard, first.entry, 'unbookable');
        return [];
      }
      const half = Math.ceil(batch.length / 2);
      const before = await this.#book(shard, batch.slice(0, half));
      return [...before, ...(await this.#book(shard, batch.slice(half)))];
    }
  }

  async #setAside(shard: number, entry: SettlementEntry, reason: RejectionReason): Promise<void> {
    this.#deps.events.settlementRejected({ shard, streamId: entry.streamId, reason });
    await this.#deps.ledger.setAside(shard, entry, reason);
  }

  #read(entries: readonly SettlementEntry[]): { verified: VerifiedSettlement[]; rejected: SettlementEntry[] } {
    const verified: VerifiedSettlement[] = [];
    const rejected: SettlementEntry[] = [];
    for (const entry of entries) {
      const settlement = verifySettlement(this.#deps.settlementMacKey, entry);
      if (settlement === undefined) rejected.push(entry);
      else verified.push({ entry, settlement, owner: this.#owner(settlement.accountRef) });
    }
    return { verified, rejected };
  }

  #owner(accountRef: string): AccountRef | undefined {
    return openAccountRef(this.#deps.accountRefKey, accountRef);
  }
}

export interface SettlementDependencies {
  readonly settler: Settler;
  readonly metrics: Pick<ControlMetrics, 'settledAt'>;
  readonly now: () => number;
}

export const buildSettlement = ({ settler, metrics, now }: SettlementDependencies): Domain => ({
  tasks: (failed) => [
    repeat(
      settleMs,
      async () => {
        const isMore = await settler.settleAll();
        if (!isMore && settler.isJoined) metrics.settledAt.set(now() / 1000);
        return isMore;
      },
      failed('settler'),
    ),
    repeat(rebookMs, () => settler.rebook(), failed('rebook')),
  ],
});
