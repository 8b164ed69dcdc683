import type pg from 'pg';
import type { OrderRecord } from '../orders/order-record.ts';

/**
 * Updates the account's auto top-up when an order changes, in the transaction that changes it. A failed automatic order
 * pauses auto top-up, so that it does not retry by itself. An order that a person pays resumes it. A dispute pauses it,
 * so that it does not charge a contested card again.
 */
export async function recordOutcome(
  client: pg.PoolClient,
  { before, after, at }: { readonly before: OrderRecord; readonly after: OrderRecord; readonly at: Date },
): Promise<void> {
  // The loss of a dispute may be reported before its beginning.
  const isLost = after.disputedNusd > before.disputedNusd;
  if (isLost || (after.flag === 'disputed' && before.flag !== 'disputed'))
    await pause(client, after.accountId, 'disputed');
  if (after.status === before.status) return;
  if (after.automatic && (after.status === 'failed' || after.status === 'expired')) {
    const code = after.failure ?? 'expired';
    await pause(client, after.accountId, code);
    await setOutcome(client, { accountId: after.accountId, code, at });
  }
  if (after.status !== 'paid' && after.status !== 'refunded') return;
  if (after.automatic) await setOutcome(client, { accountId: after.accountId, code: 'paid', at });
  else if (after.status === 'paid') {
    await client.query('update billing_settings set auto_paused = null where account_id = $1', [after.accountId]);
  }
}

export async function pause(db: pg.Pool | pg.PoolClient, accountId: string, code: string): Promise<void> {
  await db.query('update billing_settings set auto_paused = $2 where account_id = $1', [accountId, code]);
}

/**
 * Records the outcome of the last automatic top-up. A repeated outcome keeps its time, except `paid`. Returns whether a
 * row changed.
 */
export async function setOutcome(
  db: pg.Pool | pg.PoolClient,
  { accountId, code, at }: { readonly accountId: string; readonly code: string; readonly at: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update billing_settings set auto_outcome = $2, auto_outcome_at = $3
     where account_id = $1 and ($2 = 'paid' or auto_outcome is distinct from $2)`,
    [accountId, code, at],
  );
  return rowCount === 1;
}
