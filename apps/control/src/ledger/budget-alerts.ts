import type { Nusd } from '@sotto/money';
import type pg from 'pg';

/** The percents of a limit at which alerts are sent, the highest first. */
const alertPercents = [100, 80, 50] as const;

/** How a budget stands in a month, at the cost of the account that pays. */
export interface BudgetStanding {
  readonly budgetId: string;
  readonly accountId: string;
  readonly month: string;
  readonly limitNusd: Nusd;
  readonly spentNusd: Nusd;
  /** The highest percent that is noted as passed. */
  readonly notedPercent: number;
}

/** Returns the highest percent that the spending has passed, or 0. */
const passedPercent = ({ limitNusd, spentNusd }: Pick<BudgetStanding, 'limitNusd' | 'spentNusd'>): number =>
  spentNusd === 0n ? 0 : (alertPercents.find((percent) => spentNusd * 100n >= limitNusd * BigInt(percent)) ?? 0);

/**
 * Notes the percents that budgets have newly passed in the present month, and the deliveries for the highest of them. These are a
 * mail to the owner, to each admin and to the member whose keys are limited, and an event to the webhook.
 * A standing may be given several times, once for each key of a batch that counts in the budget.
 *
 * The caller holds the lock of the paying account, and has read the standings since. So bookings and changes of limits follow one
 * another, and each percent is noted once, even if two settlers book the same charge. If the workspace has another payer now,
 * nothing is sent: the new payer begins with nothing spent.
 */
export async function noteAlerts(client: pg.PoolClient, standings: readonly BudgetStanding[]): Promise<void> {
  const passed = standings
    .map((standing) => ({ ...standing, percent: passedPercent(standing) }))
    .filter(({ percent, notedPercent }) => percent > notedPercent);
  if (passed.length === 0) return;
  await client.query(
    `with passed as (
       select distinct t.* from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[]) as t (budget_id, account_id, month, percent)
       where t.month = to_char(now() at time zone 'utc', 'YYYY-MM')
     ), noted as (
       insert into budget_alerts (id, budget_id, account_id, month, percent)
       select gen_random_uuid(), t.budget_id, t.account_id, t.month, p.percent
       from passed t join unnest($5::int[]) as p (percent) on p.percent <= t.percent
       on conflict do nothing returning id, budget_id, account_id, percent
     )
     insert into alert_deliveries (id, alert_id, account_id)
     select gen_random_uuid(), n.id, r.account_id from noted n
     join passed t on t.budget_id = n.budget_id and t.account_id = n.account_id and t.percent = n.percent
     join budgets b on b.id = n.budget_id
     join workspaces w on w.id = b.workspace_id and w.account_id = n.account_id and w.deleted_at is null
     cross join lateral (
       select w.account_id
       union select m.account_id from workspace_members m where m.workspace_id = w.id and m.role = 'admin'
       union select b.member_id where b.member_id is not null
       union select k.created_by from api_keys k where k.id = b.key_id
       union select null from workspace_webhooks h where h.workspace_id = w.id
     ) r`,
    [
      passed.map(({ budgetId }) => budgetId),
      passed.map(({ accountId }) => accountId),
      passed.map(({ month }) => month),
      passed.map(({ percent }) => percent),
      alertPercents,
    ],
  );
}

/**
 * Forgets the percents that a changed limit makes unpassed, so that passing them again is alerted again. Then notes those that it
 * makes passed. The caller holds the lock of the paying account.
 */
export async function moveAlerts(client: pg.PoolClient, standing: Omit<BudgetStanding, 'notedPercent'>): Promise<void> {
  const { budgetId, accountId, month } = standing;
  await client.query(
    'delete from budget_alerts where budget_id = $1 and account_id = $2 and month = $3 and percent > $4',
    [budgetId, accountId, month, passedPercent(standing)],
  );
  const { rows } = await client.query<{ noted: number | null }>(
    'select max(percent) as noted from budget_alerts where budget_id = $1 and account_id = $2 and month = $3',
    [budgetId, accountId, month],
  );
  await noteAlerts(client, [{ ...standing, notedPercent: rows[0]?.noted ?? 0 }]);
}
