import type pg from 'pg';
import type { ControlEvents } from '../../events.ts';

/** Notes which balances have fallen below their notice, once a crossing, and which have risen again. */
export async function noteLowBalances(pool: pg.Pool, events: ControlEvents, now: Date): Promise<void> {
  const fallen = await pool.query(
    `update billing_settings s set low_since = $1 from accounts a
     where a.id = s.account_id and s.low_since is null and a.balance_nusd < s.low_balance_nusd`,
    [now],
  );
  await pool.query(
    `update billing_settings s set low_since = null from accounts a
     where a.id = s.account_id and s.low_since is not null
       and (s.low_balance_nusd is null or a.balance_nusd >= s.low_balance_nusd)`,
  );
  if (fallen.rowCount) events.lowBalance({ accounts: fallen.rowCount });
}
