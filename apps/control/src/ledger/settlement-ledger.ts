import { randomUUID } from 'node:crypto';
import type { SettlementEntry } from '@sotto/state';
import type pg from 'pg';
import type { AttributedSettlement } from './attributed-settlement.ts';
import { type BookingResult, bookSettlements } from './book-settlements.ts';

export type RejectionReason = 'bad_mac' | 'unbookable';

/** A settlement whose MAC was right and that the ledger refused. */
export interface SetAside {
  readonly id: string;
  readonly shard: number;
  readonly payload: string;
}

/** Where the settler books. */
export interface SettlementLedger {
  /** Books a batch, all or nothing, each settlement at most once. */
  book(batch: readonly AttributedSettlement[]): Promise<BookingResult>;
  /** Keeps a settlement that is not booked; the audit reports it until it is resolved. */
  setAside(shard: number, entry: SettlementEntry, reason: RejectionReason): Promise<void>;
  /** The settlements that were set aside as unbookable and are not resolved. */
  unbookable(): Promise<readonly SetAside[]>;
  /** One of them was booked after all. */
  rebooked(id: string): Promise<void>;
  /** Whether an error of `book` says that the settlements cannot be booked, rather than that the ledger is away. */
  isRefusal(error: unknown): boolean;
}

const longestPayload = 4096;

export const postgresSettlementLedger = (pool: pg.Pool): SettlementLedger => ({
  book: (batch) => bookSettlements(pool, batch),

  async setAside(shard, { streamId, payload }, reason) {
    // A Postgres text holds no NUL: refused here it would hold up its shard for ever.
    const text = payload.slice(0, longestPayload).replaceAll('\u0000', '\ufffd');
    await pool.query(
      'insert into rejected_settlements (id, shard, stream_id, reason, payload) values ($1, $2, $3, $4, $5)',
      [randomUUID(), shard, streamId, reason, text],
    );
  },

  async unbookable() {
    const { rows } = await pool.query<SetAside>(
      `select id, shard, payload from rejected_settlements where reason = 'unbookable' and resolved_at is null
       order by created_at limit 500`,
    );
    return rows;
  },

  async rebooked(id) {
    await pool.query(
      "update rejected_settlements set resolved_at = now(), resolution = 'booked' where id = $1 and resolved_at is null",
      [id],
    );
  },

  isRefusal,
});

/** Whether it is what the settlements say that cannot be booked (SQLSTATE classes 22 and 23, a time out of range). */
function isRefusal(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));
}
