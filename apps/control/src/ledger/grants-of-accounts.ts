import type { MonthlyGrant } from '@sotto/money';
import type pg from 'pg';
import type { monthlyGrants } from '../database/billing-schema.ts';
import type { SqlRow } from '../database/columns.ts';

type GrantRow = SqlRow<typeof monthlyGrants>;

/**
 * Reads the grants that charges of these months can draw on. These are the grants that are not used up, and those since a year before
 * the first of the months, whose expiry may be recent: a service that was off expires grants late, and admits requests meanwhile. Call
 * it under locks on the accounts, which every change of a grant takes. Each list is in the order of its months.
 */
export async function readGrants(
  client: pg.PoolClient,
  accountIds: readonly string[],
  months: readonly string[],
): Promise<Map<string, readonly MonthlyGrant[]>> {
  const byAccount = new Map<string, MonthlyGrant[]>();
  if (accountIds.length === 0 || months.length === 0) return byAccount;
  // There were no grants before. A broker may state any month, even one without a year before it.
  const [earliest = ''] = months.map((month) => (month < '2001-01' ? '2001-01' : month)).sort();
  const { rows } = await client.query<GrantRow>(
    `select account_id, month, amount_nusd, spent_nusd, expired_nusd from monthly_grants
     where account_id = any($1::uuid[]) and (month >= $2 or amount_nusd > spent_nusd + expired_nusd) order by month`,
    [accountIds, `${Number(earliest.slice(0, 4)) - 1}${earliest.slice(4)}`],
  );
  for (const row of rows) {
    const grants = byAccount.get(row.account_id) ?? [];
    byAccount.set(row.account_id, grants);
    grants.push(grantOf(row));
  }
  return byAccount;
}

export const grantOf = (row: Omit<GrantRow, 'account_id'>): MonthlyGrant => ({
  month: row.month,
  amountNusd: BigInt(row.amount_nusd),
  spentNusd: BigInt(row.spent_nusd),
  expiredNusd: BigInt(row.expired_nusd),
});

/** Writes what grants have paid and what has expired of them. */
export async function writeGrants(
  client: pg.PoolClient,
  grants: readonly (MonthlyGrant & { readonly accountId: string })[],
): Promise<void> {
  if (grants.length === 0) return;
  await client.query(
    `update monthly_grants g set spent_nusd = t.spent, expired_nusd = t.expired
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[]) as t (account_id, month, spent, expired)
     where g.account_id = t.account_id and g.month = t.month`,
    [
      grants.map(({ accountId }) => accountId),
      grants.map(({ month }) => month),
      grants.map(({ spentNusd }) => spentNusd),
      grants.map(({ expiredNusd }) => expiredNusd),
    ],
  );
}
