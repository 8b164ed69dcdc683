import type { Nusd } from '@sotto/money';
import type pg from 'pg';

/** What automatic orders of this calendar month (UTC) cost or may yet cost an account, fees included. */
export async function spentThisMonth(db: pg.Pool | pg.PoolClient, accountId: string, now: Date): Promise<Nusd> {
  const { rows } = await db.query<{ spent: string }>(
    `select coalesce(sum(amount_nusd + fee_nusd), 0) as spent from orders
     where account_id = $1 and automatic and status not in ('failed', 'expired') and created_at >= $2`,
    [accountId, new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))],
  );
  return BigInt(rows[0]?.spent ?? 0);
}
