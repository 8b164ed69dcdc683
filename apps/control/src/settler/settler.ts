import {
  type AccountRef,
  forEachReachable,
  type Keys,
  openAccountRef,
  type ProjectionPort,
  parseSettlement,
  type SettlementEntry,
  shards,
  verifySettlement,
} from '@sotto/state';
import type { ControlEvents } from '../events.ts';
import type { AttributedSettlement } from '../ledger/attributed-settlement.ts';
import type { BookingResult } from '../ledger/book-settlements.ts';
import type { RejectionReason, SettlementLedger } from '../ledger/settlement-ledger.ts';

export interface SettlerDependencies {
  readonly ledger: SettlementLedger;
  readonly state: Pick<ProjectionPort, 'readSettlements' | 'book' | 'forget' | 'acknowledge'>;
  readonly settlementMacKey: Keys;
  readonly accountRefKey: Keys;
  readonly events: Pick<ControlEvents, 'shortfall' | 'waived' | 'booked' | 'settlementRejected'>;
}

const batchSize = 500;

interface BelievedSettlement extends AttributedSettlement {
  readonly entry: SettlementEntry;
}

/**
 * Carries settlements from the shards' streams into the ledger: book in Postgres, tell the state what is booked, then
 * move the watermark. Stopped anywhere it starts again from the watermark, and books nothing twice.
 */
export class Settler {
  readonly #deps: SettlerDependencies;
  /** Where each shard was read up to; the watermark may be behind while the state cannot be told. */
  readonly #position = new Map<number, string>();
  readonly #running = new Map<number, Promise<boolean>>();

  constructor(deps: SettlerDependencies) {
    this.#deps = deps;
  }

  /** Books what every shard has; resolves to whether there may be more. */
  async settleAll(): Promise<boolean> {
    let more = false;
    const failure = await forEachReachable(shards, async (shard) => {
      more = (await this.settleShard(shard)) || more;
    });
    if (failure !== undefined) throw failure;
    return more;
  }

  /** Books one batch of a shard; one at a time per shard. */
  async settleShard(shard: number): Promise<boolean> {
    return this.#next(shard, () => this.#batch(shard));
  }

  /** Books all that a shard's stream has, from its beginning. */
  async drain(shard: number): Promise<void> {
    await this.#next(shard, async () => {
      this.#position.delete(shard);
      while (await this.#batch(shard));
      return false;
    });
  }

  /**
   * Books what was set aside as unbookable, where this version of the ledger can. A settlement that was booked before
   * changes nothing, so it may be cut short anywhere.
   */
  async rebook(): Promise<void> {
    const { ledger } = this.#deps;
    for (const { id, shard, payload } of await ledger.unbookable()) {
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

  #next(shard: number, run: () => Promise<boolean>): Promise<boolean> {
    const before = this.#running.get(shard) ?? Promise.resolve(false);
    const next = before.catch(() => false).then(run);
    this.#running.set(shard, next);
    return next;
  }

  async #batch(shard: number): Promise<boolean> {
    const { state, events } = this.#deps;
    const entries = await state.readSettlements(shard, this.#position.get(shard) ?? '0-0', batchSize);
    const last = entries.at(-1);
    if (last === undefined) {
      // A stream that was lost and begun anew may have smaller ids: always look from its beginning when it is empty.
      this.#position.delete(shard);
      return false;
    }
    const { believed, rejected } = this.#read(entries);
    for (const entry of rejected) await this.#setAside(shard, entry, 'bad_mac');
    const results = await this.#book(shard, believed);
    await this.#tell(shard, results);
    await state.acknowledge(shard, last.streamId);
    this.#position.set(shard, last.streamId);
    const booked = results.reduce((sum, result) => sum + result.booked, 0);
    events.booked({ shard, settlements: entries.length, charges: booked });
    return entries.length === batchSize;
  }

  /** Tells the state what is booked, and the operator what it cost them. */
  async #tell(shard: number, results: readonly BookingResult[]): Promise<void> {
    const { state, events } = this.#deps;
    for (const { wallets, unattributedHoldIds, shortfallNusd, waivedNusd } of results) {
      if (shortfallNusd > 0n) events.shortfall({ shortfallNusd });
      if (waivedNusd > 0n) events.waived({ waivedNusd });
      for (const { walletId, balanceNusd, version, keys, holdIds } of wallets) {
        await state.book({ wallet: { shard, walletId, balanceNusd, version }, keys, holdIds });
      }
      await state.forget(shard, unattributedHoldIds);
    }
  }

  /**
   * Books a batch. Where the database refuses what a settlement says, it is looked for by halves, and set aside alone:
   * the others are booked, and those behind them.
   */
  async #book(shard: number, batch: readonly BelievedSettlement[]): Promise<BookingResult[]> {
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

  #read(entries: readonly SettlementEntry[]): { believed: BelievedSettlement[]; rejected: SettlementEntry[] } {
    const believed: BelievedSettlement[] = [];
    const rejected: SettlementEntry[] = [];
    for (const entry of entries) {
      const settlement = verifySettlement(this.#deps.settlementMacKey, entry);
      if (settlement === undefined) rejected.push(entry);
      else believed.push({ entry, settlement, owner: this.#owner(settlement.accountRef) });
    }
    return { believed, rejected };
  }

  #owner(accountRef: string): AccountRef | undefined {
    return openAccountRef(this.#deps.accountRefKey, accountRef);
  }
}
