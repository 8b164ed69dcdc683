import type { Nusd } from '@sotto/money';
import type { Settlement } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import type { accounts } from '../database/schema.ts';
import type { AttributedSettlement } from './record-usage.ts';

/**
 * The charges that an account may have waived per hour for abandoned requests: 0.10 USD. The request that crosses the
 * limit is waived in full, so that a single one is free at any price. The allowance is per account, because an account
 * can create any number of keys.
 */
export const waivedPerHourNusd: Nusd = 100_000_000n;
const hourMs = 3_600_000;

type WaivedRow = SqlRow<typeof accounts, 'id' | 'waived_nusd' | 'waived_hour'>;

/**
 * Returns the batch with the charges waived that the accounts’ allowances cover, and the waived sum. Call it in the
 * transaction that books the batch, which holds locks on the accounts.
 *
 * The critical interleaving: two settlers see the same request, or one died before its commit. A booked request is
 * skipped, and the account’s lock makes the second settler wait for the first one’s commit. The lock also makes
 * concurrent bookings for several keys of one account see how much of the allowance is used.
 */
export async function waiveCharges(
  client: pg.PoolClient,
  batch: readonly AttributedSettlement[],
): Promise<{ readonly batch: readonly AttributedSettlement[]; readonly waivedNusd: Nusd }> {
  const candidates = batch.filter(({ settlement, owner }) => isWaivable(settlement) && owner !== undefined);
  if (candidates.length === 0) return { batch, waivedNusd: 0n };
  const booked = await client.query<{ id: string }>('select id from settlements where id = any($1::text[])', [
    candidates.map(({ settlement }) => settlement.id),
  ]);
  const passed = new Set(booked.rows.map(({ id }) => id));
  const { rows } = await client.query<WaivedRow>(
    'select id, waived_nusd, waived_hour from accounts where id = any($1::uuid[])',
    [[...new Set(candidates.map(({ owner }) => owner?.accountId))]],
  );
  const accounts = new Map(rows.map((row) => [row.id, { nusd: BigInt(row.waived_nusd), hour: row.waived_hour }]));
  let waivedNusd = 0n;
  const judged = batch.map((entry) => {
    const { settlement, owner } = entry;
    const account = accounts.get(owner?.accountId ?? '');
    if (!isWaivable(settlement) || account === undefined || passed.has(settlement.id)) return entry;
    passed.add(settlement.id);
    const hour = Math.floor(settlement.at / hourMs);
    if (hour > account.hour) Object.assign(account, { nusd: 0n, hour });
    if (account.nusd >= waivedPerHourNusd) return entry;
    const chargeNusd = BigInt(settlement.chargeNusd);
    account.nusd += chargeNusd;
    waivedNusd += chargeNusd;
    return { ...entry, settlement: { ...settlement, chargeNusd: '0' } };
  });
  const changed = [...accounts].sort(([a], [b]) => (a < b ? -1 : 1));
  await client.query(
    `update accounts set waived_nusd = t.nusd, waived_hour = t.hour
     from unnest($1::uuid[], $2::bigint[], $3::int[]) as t (id, nusd, hour) where accounts.id = t.id`,
    [changed.map(([id]) => id), changed.map(([, { nusd }]) => nusd), changed.map(([, { hour }]) => hour)],
  );
  return { batch: judged, waivedNusd };
}

const isWaivable = (settlement: Settlement): boolean => settlement.v === 1 && settlement.waivable === true;
