import type { Nusd } from '@sotto/money';
import type pg from 'pg';

/** How a budget stands in a month, at the cost of the account that pays. */
export interface BudgetStanding {
  readonly budgetId: string;
  readonly accountId: string;
  readonly month: string;
  readonly limitNusd: Nusd;
  readonly spentNusd: Nusd;
  /** The percents of the limit at which the workspace wants alerts. */
  readonly alertPercents: readonly number[];
  /** The highest percent that is noted as passed. */
  readonly notedPercent: number;
}

/** The percent that stands for the first refusal of a month. It is below all others, which `max(percent)` finds. */
export const refusalPercent = 0;

/** Returns the percents that the spending has passed, ascending. */
const passedPercents = ({
  limitNusd,
  spentNusd,
  alertPercents,
}: Pick<BudgetStanding, 'limitNusd' | 'spentNusd' | 'alertPercents'>): readonly number[] =>
  spentNusd === 0n ? [] : alertPercents.filter((percent) => spentNusd * 100n >= limitNusd * BigInt(percent));

/**
 * Notes the percents that budgets have newly passed in the present month, and the deliveries for the highest of them.
 * A standing may be given several times, once for each key of a batch that counts in the budget.
 *
 * The caller holds the lock of the paying account, and has read the standings since. So bookings and changes of limits follow one
 * another, and each percent is noted once, even if two settlers book the same charge. If the workspace has another payer now,
 * nothing is sent: the new payer begins with nothing spent.
 */
export async function noteAlerts(client: pg.PoolClient, standings: readonly BudgetStanding[]): Promise<void> {
  await insertAlerts(
    client,
    standings.flatMap((standing) => {
      const passed = passedPercents(standing);
      const highest = passed.at(-1) ?? 0;
      if (highest <= standing.notedPercent) return [];
      return passed.map((percent) => ({ ...standing, percent, isSent: percent === highest }));
    }),
  );
}

/** Requests of a key that were refused in an hour, and what refused them: a `RefusalKind`. */
export interface RefusedKey {
  readonly keyId: string;
  readonly kind: string;
  readonly hour: Date;
}

/** Within this time of a change, in ms, counts of refusals may be by the earlier limit. Every control reads the counts each 10 s. */
const uncertainMs = 30_000;

/**
 * Notes the first refusal of the present month by each of these budgets, with its deliveries. Of two callers, only one inserts the row. A
 * change of a limit holds the lock of the paying account, and is either seen here or removes this alert. Skips a budget whose change
 * brokers do not know yet, or learned only shortly before `readAt`, the ms since 1970 when the counts were read, and the budget of a tag
 * for which the key gave up another meanwhile. So what the earlier limit, or the budget of the earlier tag, refused alerts nobody. A
 * budget in its first version has no earlier limit.
 */
export async function noteRefusals(
  client: pg.PoolClient,
  refused: readonly RefusedKey[],
  readAt: number,
): Promise<void> {
  const byBudget = refused.filter(({ kind }) => kind.endsWith('_budget'));
  if (byBudget.length === 0) return;
  const keyIds = byBudget.map(({ keyId }) => keyId);
  await client.query(
    `select 1 from accounts where id in (select account_id from api_keys where id = any($1::uuid[])) order by id
     for key share`,
    [keyIds],
  );
  const { rows } = await client.query<{ budget_id: string; account_id: string; month: string }>(
    `select distinct b.id as budget_id, k.account_id, t.month
     from unnest($1::uuid[], $2::text[], $3::text[]) as t (key_id, kind, month) join api_keys k on k.id = t.key_id
     join budgets b on b.workspace_id = k.workspace_id and b.limit_nusd is not null and case t.kind
       when 'key_budget' then b.key_id = k.id
       when 'member_budget' then b.member_id = k.created_by
       when 'tag_budget' then b.tag = k.tag and coalesce(k.untagged_at <= $4, true)
       else b.key_id is null and b.member_id is null and b.tag_id is null end
     where b.version = 1 or (b.projected_version = b.version and b.projected_at <= $4)
     order by 1`,
    [
      keyIds,
      byBudget.map(({ kind }) => kind),
      byBudget.map(({ hour }) => hour.toISOString().slice(0, 7)),
      new Date(readAt - uncertainMs),
    ],
  );
  await insertAlerts(
    client,
    rows.map((row) => ({
      ...{ budgetId: row.budget_id, accountId: row.account_id, month: row.month },
      ...{ percent: refusalPercent, isSent: true },
    })),
  );
}

type NewAlert = Pick<BudgetStanding, 'budgetId' | 'accountId' | 'month'> & {
  readonly percent: number;
  /** Whether it is sent, besides being noted. */
  readonly isSent: boolean;
};

/**
 * Inserts alerts of the present month that are not noted yet. Those that are sent get their deliveries: a mail to the owner, to each
 * admin and to the member whose keys are limited, and an event to the webhook.
 */
async function insertAlerts(client: pg.PoolClient, alerts: readonly NewAlert[]): Promise<void> {
  if (alerts.length === 0) return;
  await client.query(
    `with passed as (
       select distinct t.* from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::bool[])
         as t (budget_id, account_id, month, percent, is_sent)
       where t.month = to_char(now() at time zone 'utc', 'YYYY-MM')
     ), noted as (
       insert into budget_alerts (id, budget_id, account_id, month, percent)
       select gen_random_uuid(), t.budget_id, t.account_id, t.month, t.percent from passed t order by 2, 3, 4, 5
       on conflict do nothing returning id, budget_id, account_id, percent
     )
     insert into alert_deliveries (id, alert_id, account_id)
     select gen_random_uuid(), n.id, r.account_id from noted n
     join passed t on t.budget_id = n.budget_id and t.account_id = n.account_id and t.percent = n.percent and t.is_sent
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
      alerts.map(({ budgetId }) => budgetId),
      alerts.map(({ accountId }) => accountId),
      alerts.map(({ month }) => month),
      alerts.map(({ percent }) => percent),
      alerts.map(({ isSent }) => isSent),
    ],
  );
}

/**
 * Forgets the percents that changed limits make unpassed, and that the budgets refused, so that both are alerted again. Then notes the
 * percents that they make passed. The caller holds the lock of the paying account.
 */
export async function moveAlerts(
  client: pg.PoolClient,
  standings: readonly Omit<BudgetStanding, 'notedPercent'>[],
): Promise<void> {
  if (standings.length === 0) return;
  const columns = [
    standings.map(({ budgetId }) => budgetId),
    standings.map(({ accountId }) => accountId),
    standings.map(({ month }) => month),
  ];
  await client.query(
    `delete from budget_alerts a using unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[]) as t (budget_id, account_id, month, passed)
     where a.budget_id = t.budget_id and a.account_id = t.account_id and a.month = t.month
       and (a.percent > t.passed or a.percent = ${refusalPercent})`,
    [...columns, standings.map((standing) => passedPercents(standing).at(-1) ?? 0)],
  );
  const { rows } = await client.query<{ budget_id: string; noted: number }>(
    `select a.budget_id, max(a.percent) as noted from unnest($1::uuid[], $2::uuid[], $3::text[]) as t (budget_id, account_id, month)
     join budget_alerts a on a.budget_id = t.budget_id and a.account_id = t.account_id and a.month = t.month group by 1`,
    columns,
  );
  const noted = new Map(rows.map((row) => [row.budget_id, row.noted]));
  await noteAlerts(
    client,
    standings.map((standing) => ({ ...standing, notedPercent: noted.get(standing.budgetId) ?? 0 })),
  );
}
