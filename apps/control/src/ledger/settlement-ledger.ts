import { randomUUID } from 'node:crypto';
import { parseBookable, type SettlementEntry } from '@sotto/state';
import type pg from 'pg';
import { hasSqlState } from '../database/failures.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { type BookingResult, bookSettlements } from './book-settlements.ts';
import type { AttributedSettlement } from './record-usage.ts';

export type RejectionReason = 'bad_mac' | 'unbookable';

/** A settlement that was set aside, as it was in the stream of its shard. */
export interface SetAside extends Pick<SettlementEntry, 'payload' | 'mac'> {
  readonly id: string;
  readonly shard: number;
}

/** Returns a text that Postgres can hold. With a NUL, an insert would fail forever and block the shard. */
const storable = (text: string, maxLength: number): string => text.slice(0, maxLength).replaceAll('\u0000', '\ufffd');
const maxPayloadLength = 4096;
const maxMacLength = 64;

export const postgresSettlementLedger = (pool: pg.Pool) => ({
  /** Books a batch, all or nothing, each settlement at most once. */
  book: (batch: readonly AttributedSettlement[]): Promise<BookingResult> => bookSettlements(pool, batch),

  /**
   * Stores a settlement that is not booked. The audit reports it until it is resolved. The settler reads it again if the rest of
   * its batch fails, so it is stored once, even if it is resolved by then.
   */
  async setAside(shard: number, { streamId, payload, mac }: SettlementEntry, reason: RejectionReason): Promise<void> {
    const text = storable(payload, maxPayloadLength);
    const holdId = parseBookable(text)?.id;
    await pool.query(
      `insert into rejected_settlements (id, shard, stream_id, reason, payload, mac, hold_id)
       select $1::uuid, $2::int, $3::text, $4::text, $5::text, $6::text, $7::text where not exists (
         select from rejected_settlements where shard = $2 and stream_id = $3 and reason = $4 and payload = $5)`,
      [
        ...[randomUUID(), shard, streamId, reason, text, storable(mac, maxMacLength)],
        holdId !== undefined && isHoldId(holdId) ? holdId : null,
      ],
    );
  },

  /** Returns a page of the unresolved settlements that were set aside, by their ids. Empty after the last page. */
  async setAsideAfter(id: string | undefined): Promise<readonly SetAside[]> {
    const { rows } = await pool.query<SetAside>(
      `select id, shard, payload, mac from rejected_settlements where resolved_at is null
       and ($1::uuid is null or id > $1) order by id limit 500`,
      [id ?? null],
    );
    return rows;
  },

  /**
   * Books one of them with `book` and then marks it as booked, unless it was resolved. Until then a dismissal waits, so that no
   * dismissed charge is booked. If this process dies between, the next attempt books nothing twice.
   */
  async rebook(id: string, book: () => Promise<void>): Promise<void> {
    await inTransaction(pool, async (client) => {
      const { rowCount } = await client.query(
        'select from rejected_settlements where id = $1 and resolved_at is null for update skip locked',
        [id],
      );
      if (rowCount === 0) return;
      await book();
      await client.query("update rejected_settlements set resolved_at = now(), resolution = 'booked' where id = $1", [
        id,
      ]);
    });
  },

  isRefusal,
  /** Whether an error of `book` means that another transaction held up an account of the batch. */
  isHeldUp: (error: unknown): boolean => heldUp.some((state) => hasSqlState(error, state)),
});

export type SettlementLedger = ReturnType<typeof postgresSettlementLedger>;

/** Whether it can be the id of a hold, rather than another note's. */
const isHoldId = (id: string): boolean => /^[\w-]{1,64}$/.test(id);

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
