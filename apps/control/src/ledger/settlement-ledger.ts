import { randomUUID } from 'node:crypto';
import type { SettlementEntry } from '@sotto/state';
import type pg from 'pg';
import { hasSqlState } from '../database/failures.ts';
import { type BookingResult, bookSettlements } from './book-settlements.ts';
import type { AttributedSettlement } from './record-usage.ts';

export type RejectionReason = 'bad_mac' | 'unbookable';

/** A settlement with a valid MAC that the ledger rejected. */
export interface SetAside {
  readonly id: string;
  readonly shard: number;
  readonly payload: string;
}

const maxPayloadLength = 4096;

export const postgresSettlementLedger = (pool: pg.Pool) => ({
  /** Books a batch, all or nothing, each settlement at most once. */
  book: (batch: readonly AttributedSettlement[]): Promise<BookingResult> => bookSettlements(pool, batch),

  /**
   * Stores a settlement that is not booked. The audit reports it until it is resolved. The settler reads it again if the rest of
   * its batch fails, so it is stored once, even if it is resolved by then.
   */
  async setAside(shard: number, { streamId, payload }: SettlementEntry, reason: RejectionReason): Promise<void> {
    // A Postgres text cannot hold NUL. The insert would fail forever and block the shard.
    const text = payload.slice(0, maxPayloadLength).replaceAll('\u0000', '\ufffd');
    await pool.query(
      `insert into rejected_settlements (id, shard, stream_id, reason, payload)
       select $1::uuid, $2::int, $3::text, $4::text, $5::text where not exists (
         select from rejected_settlements where shard = $2 and stream_id = $3 and reason = $4 and payload = $5)`,
      [randomUUID(), shard, streamId, reason, text],
    );
  },

  /** Returns a page of the unresolved settlements that were set aside as unbookable, by their ids. Empty after the last page. */
  async unbookable(after: string | undefined): Promise<readonly SetAside[]> {
    const { rows } = await pool.query<SetAside>(
      `select id, shard, payload from rejected_settlements where reason = 'unbookable' and resolved_at is null
       and ($1::uuid is null or id > $1) order by id limit 500`,
      [after ?? null],
    );
    return rows;
  },

  /** Marks one of them as booked. */
  async rebooked(id: string): Promise<void> {
    await pool.query(
      "update rejected_settlements set resolved_at = now(), resolution = 'booked' where id = $1 and resolved_at is null",
      [id],
    );
  },

  isRefusal,
  /** Whether an error of `book` means that another transaction held up an account of the batch. */
  isHeldUp: (error: unknown): boolean => heldUp.some((state) => hasSqlState(error, state)),
});

export type SettlementLedger = ReturnType<typeof postgresSettlementLedger>;

/** A statement or a lock that took too long, and a deadlock. */
const heldUp = ['57014', '55P03', '40P01'];

/**
 * Whether an error of `book` means that the settlements cannot be booked (SQLSTATE classes 22 and 23, or a time out of
 * range), rather than that the ledger is unavailable.
 */
function isRefusal(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));
}
