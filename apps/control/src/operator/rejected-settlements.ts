import type { RejectedSettlementListAnswer } from '@sotto/contract/control/operator';
import { nusdToUsd } from '@sotto/money';
import { parseBookable } from '@sotto/state';
import type pg from 'pg';
import { type Actor, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { rejectedSettlements } from '../database/schema.ts';

type Row = SqlRow<typeof rejectedSettlements, 'id' | 'created_at' | 'shard' | 'reason' | 'payload'>;

/** Returns the unresolved settlements that were set aside, oldest first. */
export async function listRejected(pool: pg.Pool): Promise<RejectedSettlementListAnswer['data']> {
  const { rows } = await pool.query<Row>(
    `select id, created_at, shard, reason, payload from rejected_settlements
     where resolved_at is null order by created_at`,
  );
  return rows.map(({ id, created_at, shard, reason, payload }) => {
    const charge = parseBookable(payload)?.chargeNusd;
    return {
      id,
      at: created_at.toISOString(),
      shard,
      reason,
      charge_usd: charge === undefined ? null : nusdToUsd(BigInt(charge)),
    };
  });
}

/**
 * Resolves a settlement that will not be booked, so that the audit no longer reports it. The epoch keeper then ends the note by which
 * the state counts its charge. False: it is not in the list.
 */
export const dismissRejected = (
  pool: pg.Pool,
  { id, why, actor }: { readonly id: string; readonly why: string; readonly actor: Actor },
): Promise<boolean> =>
  inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'update rejected_settlements set resolved_at = now(), resolution = $2 where id = $1 and resolved_at is null',
      [id, why],
    );
    if (rowCount === 0) return false;
    await recordAct(client, { actor, act: 'settlement_dismissed', details: { settlement_id: id } });
    return true;
  });
