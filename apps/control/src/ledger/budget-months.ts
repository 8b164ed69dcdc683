import { maxNusd, type Nusd } from '@sotto/money';
import { type BudgetScope, budgetIdOf, type MonthSpend, monthOf } from '@sotto/state';
import type pg from 'pg';
import type { SqlRow } from '../database/columns.ts';
import { sentTogether } from '../database/in-transaction.ts';
import { prepared } from '../database/prepared.ts';
import type { budgets, workspaces } from '../database/schema.ts';
import { noteAlerts } from './budget-alerts.ts';

/** Whom a budget limits, and the account that pays. */
export type BudgetOwner = SqlRow<typeof budgets, 'workspace_id' | 'member_id' | 'key_id' | 'tag_id'> & {
  account_id: string;
};

export const scopeOf = ({
  member_id,
  key_id,
  tag_id,
}: Pick<BudgetOwner, 'member_id' | 'key_id' | 'tag_id'>): BudgetScope =>
  key_id !== null ? 'key' : tag_id !== null ? 'tag' : member_id !== null ? 'member' : 'workspace';

/**
 * Returns a budget's name in the shared state. The payer is part of it: if a workspace is handed over, its new owner's budgets begin
 * with nothing spent, even if both wallets share a shard.
 */
export const stateIdOf = (budget: BudgetOwner): string =>
  budgetIdOf(
    scopeOf(budget),
    budget.account_id,
    budget.workspace_id,
    budget.member_id ?? budget.key_id ?? budget.tag_id ?? '',
  );

type BookedBudget = BudgetOwner &
  SqlRow<typeof budgets, 'id' | 'limit_nusd'> &
  SqlRow<typeof workspaces, 'alert_percents'> & { month: string; spent_nusd: string; noted_percent: number | null };

/** Returns the names of the budgets in which the requests of a key count while it has this tag. */
export const budgetIdsOf = (
  key: { id: string; account_id: string; workspace_id: string; created_by: string },
  tagId: string | undefined,
): readonly string[] => {
  const { account_id, workspace_id } = key;
  const of = { account_id, workspace_id, member_id: null, key_id: null, tag_id: null };
  return [
    stateIdOf(of),
    stateIdOf({ ...of, member_id: key.created_by }),
    ...(tagId === undefined ? [] : [stateIdOf({ ...of, tag_id: tagId })]),
    stateIdOf({ ...of, key_id: key.id }),
  ];
};

/** SQL: the charges that count in the budget `b`, which the account `payer` pays, as rows `m` of a month and `spent_nusd`. */
export const spentOf = (payer: string): string => `(
  select m.month, m.spent_nusd from api_keys k join key_months m on m.key_id = k.id
    where b.tag_id is null and k.workspace_id = b.workspace_id and k.account_id = ${payer}
      and (b.member_id is null or k.created_by = b.member_id) and (b.key_id is null or k.id = b.key_id)
  union all
  select m.month, m.spent_nusd from tag_months m where m.account_id = ${payer} and m.tag_id = b.tag_id) m`;

/** Redis holds no larger number exactly. A budget is never larger, so spending beyond this refuses as well. */
export const largestSum = `least(coalesce(sum(m.spent_nusd), 0), ${maxNusd})`;

/** Requests that began in an earlier month have ended, so the shared state forgets what it cost. */
const monthKeptMs = 40 * 86_400_000;

/** Returns the oldest month that the shared state keeps. */
export const oldestMonth = (now: number): string => monthOf(now - monthKeptMs);

const addToMonths = prepared(
  `insert into key_months (key_id, month, spent_nusd)
   select t.key_id, t.month, sum(t.nusd) from unnest($1::uuid[], $2::text[], $3::bigint[]) as t (key_id, month, nusd)
     join api_keys k on k.id = t.key_id where t.nusd > 0 group by 1, 2 order by 1, 2
   on conflict (key_id, month) do update set spent_nusd = key_months.spent_nusd + excluded.spent_nusd`,
);
const addToTagMonths = prepared(
  `insert into tag_months (account_id, tag_id, month, spent_nusd)
   select k.account_id, t.tag_id, t.month, sum(t.nusd)
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[]) as t (key_id, month, nusd, tag_id)
     join api_keys k on k.id = t.key_id where t.nusd > 0 and t.tag_id is not null group by 1, 2, 3 order by 1, 2, 3
   on conflict (account_id, tag_id, month) do update set spent_nusd = tag_months.spent_nusd + excluded.spent_nusd`,
);
const selectBudgets = prepared(
  `select b.id, b.workspace_id, b.member_id, b.key_id, b.tag_id, b.limit_nusd, t.account_id, t.month, s.spent_nusd, w.alert_percents,
     (select max(a.percent) from budget_alerts a
      where a.budget_id = b.id and a.account_id = t.account_id and a.month = t.month) as noted_percent
   from (select distinct k.account_id, k.workspace_id, k.created_by, k.id, t.month, t.tag_id
     from unnest($1::uuid[], $2::text[], $3::uuid[]) as t (key_id, month, tag_id) join api_keys k on k.id = t.key_id) t
   join budgets b on b.workspace_id = t.workspace_id and (b.member_id is null or b.member_id = t.created_by)
     and (b.key_id is null or b.key_id = t.id) and (b.tag_id is null or b.tag_id = t.tag_id)
   join workspaces w on w.id = b.workspace_id
   cross join lateral (select ${largestSum}::text as spent_nusd from ${spentOf('t.account_id')} where m.month = t.month) s`,
);

/** The charge of a request. It counts in the budget of the tag that its key had when the request was admitted. */
export interface BookedMonth {
  readonly keyId: string;
  readonly tagId?: string | undefined;
  readonly month: string;
  readonly chargedNusd: Nusd;
}

/**
 * Adds charges to the months of their keys and tags, and returns the spending of the budgets and months that a batch belongs to, with its
 * payer. Call it in the transaction that books the batch, which holds locks on the paying accounts: no other booking changes these
 * sums until its commit, and a new budget waits for the same lock, so that either sees all of the other. Notes the alerts of the
 * budgets whose spending passes one.
 */
export async function bookMonths(
  client: pg.PoolClient,
  batch: readonly BookedMonth[],
): Promise<readonly (MonthSpend & { readonly budgetId: string; readonly accountId: string })[]> {
  const sums = new Map<string, BookedMonth>();
  for (const each of batch) {
    const id = `${each.keyId} ${each.month} ${each.tagId}`;
    sums.set(id, { ...each, chargedNusd: each.chargedNusd + (sums.get(id)?.chargedNusd ?? 0n) });
  }
  const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  const columns = [rows.map(({ keyId }) => keyId), rows.map(({ month }) => month)];
  const charged = [...columns, rows.map(({ chargedNusd }) => chargedNusd)];
  const tagIds = rows.map(({ tagId }) => tagId ?? null);
  const added = addToMonths(client, charged);
  const addedToTags = tagIds.some((tagId) => tagId !== null) && addToTagMonths(client, [...charged, tagIds]);
  const budgetsOf = selectBudgets<BookedBudget>(client, [...columns, tagIds]);
  const [{ rows: spent }] = await sentTogether([budgetsOf, added, addedToTags]);
  await noteAlerts(
    client,
    spent.flatMap((row) =>
      row.limit_nusd === null
        ? []
        : {
            ...{ budgetId: row.id, accountId: row.account_id, month: row.month, notedPercent: row.noted_percent ?? 0 },
            ...{ limitNusd: BigInt(row.limit_nusd), spentNusd: BigInt(row.spent_nusd) },
            alertPercents: row.alert_percents,
          },
    ),
  );
  return spent.map((row) => ({
    budgetId: stateIdOf(row),
    accountId: row.account_id,
    month: row.month,
    spentNusd: BigInt(row.spent_nusd),
  }));
}
