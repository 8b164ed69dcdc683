import { type Nusd, nusdToUsd } from '@sotto/money';
import type { BillingSettingsAnswer } from '@sotto/wire';
import type pg from 'pg';
import { spentThisMonth } from '../auto-top-up/monthly-spend.ts';
import { autoTopUpSentence } from './auto-top-up-sentences.ts';

/** What a person sets; amounts in nano-USD. */
export interface WantedSettings {
  readonly lowBalanceNusd: Nusd | undefined;
  readonly auto:
    | {
        readonly enabled: boolean;
        readonly thresholdNusd: Nusd;
        readonly packageId: string;
        readonly monthlyLimitNusd: Nusd;
      }
    | undefined;
}

/** Replaces the settings of an account. Saving them lets an auto top-up that was paused try again. */
export async function writeSettings(pool: pg.Pool, accountId: string, wanted: WantedSettings): Promise<void> {
  const { lowBalanceNusd, auto } = wanted;
  await pool.query(
    `insert into billing_settings (account_id, low_balance_nusd, auto_enabled, auto_threshold_nusd, auto_package_id,
       auto_monthly_limit_nusd) values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id) do update set low_balance_nusd = excluded.low_balance_nusd,
       auto_enabled = excluded.auto_enabled, auto_threshold_nusd = excluded.auto_threshold_nusd,
       auto_package_id = excluded.auto_package_id, auto_monthly_limit_nusd = excluded.auto_monthly_limit_nusd,
       auto_paused = null`,
    [
      accountId,
      lowBalanceNusd ?? null,
      auto?.enabled ?? false,
      auto?.thresholdNusd ?? null,
      auto?.packageId ?? null,
      auto?.monthlyLimitNusd ?? null,
    ],
  );
}

interface Row {
  balance_nusd: string;
  low_balance_nusd: string | null;
  low_since: Date | null;
  auto_enabled: boolean | null;
  auto_threshold_nusd: string | null;
  auto_package_id: string | null;
  auto_monthly_limit_nusd: string | null;
  auto_paused: string | null;
  auto_outcome: string | null;
  auto_outcome_at: Date | null;
}

/** The settings of an account and how things stand; an account that never set any has none. */
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
      paused: row.auto_paused === null ? null : { code: row.auto_paused, message: autoTopUpSentence(row.auto_paused) },
      spent_this_month_usd: nusdToUsd(await spentThisMonth(pool, accountId, now)),
      last_outcome:
        row.auto_outcome === null || row.auto_outcome_at === null
          ? null
          : {
              code: row.auto_outcome,
              message: autoTopUpSentence(row.auto_outcome),
              at: row.auto_outcome_at.toISOString(),
            },
    },
  };
}
