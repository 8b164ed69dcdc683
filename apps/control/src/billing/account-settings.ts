import type { BillingSettingsAnswer } from '@sotto/contract/control/billing';
import { nusdToUsd } from '@sotto/money';
import type pg from 'pg';
import { keepAccount, type NoAccount } from '../accounts/keep-account.ts';
import type { billingSettings } from '../database/billing-schema.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { type Refused, refused } from '../database/refused.ts';
import type { accounts } from '../database/schema.ts';
import type { ControlEvents } from '../events.ts';
import { spentThisMonth } from './auto-top-up/auto-top-up.ts';
import { messageOf } from './orders/order-record.ts';
import type { RequestedSettings } from './requested-settings.ts';

/**
 * Replaces the settings that are given. Saving auto top-up resumes it if it is paused. Who corrects an address changes
 * nothing else, so that an old page cannot switch auto top-up on again.
 */
export const writeSettings = (
  pool: pg.Pool,
  accountId: string,
  { lowBalanceNusd, auto, receiptDetails }: RequestedSettings,
): Promise<Refused<NoAccount> | undefined> =>
  inTransaction(pool, async (client) => {
    if (!(await keepAccount(client, accountId))) return refused('no_account');
    await client.query(
      `insert into billing_settings (account_id, low_balance_nusd, auto_enabled, auto_threshold_nusd, auto_package_id,
       auto_monthly_limit_nusd, receipt_details) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (account_id) do update set ${given('low_balance_nusd', '$8')}, ${given('receipt_details', '$9')},
       ${['auto_enabled', 'auto_threshold_nusd', 'auto_package_id', 'auto_monthly_limit_nusd', 'auto_paused'].map((name) => given(name, '$10')).join(', ')}`,
      [
        accountId,
        lowBalanceNusd ?? null,
        auto?.enabled ?? false,
        auto?.thresholdNusd ?? null,
        auto?.packageId ?? null,
        auto?.monthlyLimitNusd ?? null,
        receiptDetails ?? null,
        lowBalanceNusd !== undefined,
        receiptDetails !== undefined,
        auto !== undefined,
      ],
    );
    return undefined;
  });

/** Assigns a column if it was given. A new row has no `auto_paused`, so giving auto top-up clears it. */
const given = (name: string, isGiven: string): string =>
  `${name} = case when ${isGiven} then excluded.${name} else billing_settings.${name} end`;

type Settings = SqlRow<typeof billingSettings>;
type Row = SqlRow<typeof accounts, 'balance_nusd'> & { [Name in keyof Settings]: Settings[Name] | null };

/** Returns the settings and the current state of an account. Settings that were never saved are null. */
export async function readSettings(pool: pg.Pool, accountId: string, now: Date): Promise<BillingSettingsAnswer> {
  const { rows } = await pool.query<Row>(
    `select a.balance_nusd, s.* from accounts a left join billing_settings s on s.account_id = a.id where a.id = $1`,
    [accountId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('there is no such account');
  const low = row.low_balance_nusd === null ? undefined : BigInt(row.low_balance_nusd);
  const isLow = low !== undefined && BigInt(row.balance_nusd) < low;
  return {
    receipt_details: row.receipt_details,
    low_balance_usd: low === undefined ? null : nusdToUsd(low),
    low_balance: isLow,
    low_balance_since: isLow ? (row.low_since?.toISOString() ?? null) : null,
    auto_top_up:
      row.auto_package_id === null || row.auto_threshold_nusd === null || row.auto_monthly_limit_nusd === null
        ? null
        : {
            enabled: row.auto_enabled ?? false,
            threshold_usd: nusdToUsd(BigInt(row.auto_threshold_nusd)),
            package_id: row.auto_package_id,
            monthly_limit_usd: nusdToUsd(BigInt(row.auto_monthly_limit_nusd)),
          },
    auto_top_up_state: {
      paused: row.auto_paused === null ? null : { code: row.auto_paused, message: autoTopUpMessage(row.auto_paused) },
      spent_this_month_usd: nusdToUsd(await spentThisMonth(pool, accountId, now)),
      last_outcome:
        row.auto_outcome === null || row.auto_outcome_at === null
          ? null
          : {
              code: row.auto_outcome,
              message: autoTopUpMessage(row.auto_outcome),
              at: row.auto_outcome_at.toISOString(),
            },
    },
  };
}

const messages: Readonly<Record<string, string>> = {
  paid: 'The last automatic top-up was paid.',
  expired: 'The last automatic top-up could not be completed in time.',
  monthly_limit: 'The next automatic top-up would exceed the monthly limit.',
  limit: 'The next automatic top-up would exceed a limit of this deployment.',
  refunded: 'A payment was refunded.',
  package_gone: 'The package is not offered any more. Choose another.',
};

/** Returns the public sentence about the outcome of an automatic top-up, or about the limit that holds it back. */
const autoTopUpMessage = (code: string): string => messages[code] ?? messageOf(code);

/** SQL condition: a balance has crossed its notice threshold. `DueWork` asks it. */
export const balanceCrossed = `exists (
  select from billing_settings s join accounts a on a.id = s.account_id
  where case when s.low_since is null then a.balance_nusd < s.low_balance_nusd
    else s.low_balance_nusd is null or a.balance_nusd >= s.low_balance_nusd end)`;

/**
 * Records balances that have fallen below their notice threshold, once per crossing, and clears those that have risen
 * again.
 */
export async function recordLowBalances(pool: pg.Pool, events: ControlEvents, now: Date): Promise<void> {
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
