import type pg from 'pg';
import type { OrderRecord } from '../orders/order-record.ts';

/**
 * Updates the account's auto top-up when an order changes, in the transaction that changes it. A failed automatic order
 * pauses auto top-up, so that it does not retry by itself. An order that a person pays resumes it. A refund or a dispute
 * pauses it too, because the lower balance would charge the same card again.
 */
export async function recordOutcome(
  client: pg.PoolClient,
  { before, after, at }: { readonly before: OrderRecord; readonly after: OrderRecord; readonly at: Date },
): Promise<void> {
  const { accountId } = after;
  // The loss of a dispute may be reported before its beginning.
  const isLost = after.disputedNusd > before.disputedNusd;
  if (isLost || (after.flag === 'disputed' && before.flag !== 'disputed'))
    await pause(client, { accountId, code: 'disputed' });
  if (after.refundedNusd > before.refundedNusd) await pause(client, { accountId, code: 'refunded' });
  if (after.automatic && after.status !== before.status && (after.status === 'failed' || after.status === 'expired')) {
    const code = after.failure ?? 'expired';
    await pause(client, { accountId, code });
    await setOutcome(client, { accountId, code, at });
  }
  if (before.payment !== undefined || after.payment === undefined) return;
  if (after.automatic) await setOutcome(client, { accountId, code: 'paid', at });
  else await resume(client, accountId);
}

/**
 * Pauses that only the person ends, by saving the settings. An order paid by hand does not end them: it may have been placed before
 * the money went back, or paid in another way, and does not say that the card may be charged automatically again.
 */
const endedBySettings = ['disputed', 'refunded'];

/**
 * Pauses an account's auto top-up. Another reason does not replace one that only the settings end. Returns false if the settings were
 * written since they had this version.
 */
export async function pause(
  db: pg.Pool | pg.PoolClient,
  { accountId, code, version }: { readonly accountId: string; readonly code: string; readonly version?: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update billing_settings set auto_paused = $3
     where account_id = $1 and ${isResumable} and ($4::text is null or xmin::text = $4)`,
    [accountId, endedBySettings, code, version ?? null],
  );
  return rowCount === 1;
}

async function resume(client: pg.PoolClient, accountId: string): Promise<void> {
  await client.query(`update billing_settings set auto_paused = null where account_id = $1 and ${isResumable}`, [
    accountId,
    endedBySettings,
  ]);
}

const isResumable = '(auto_paused is null or auto_paused <> all($2))';

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
