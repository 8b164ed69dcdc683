import type { BudgetSettingsAnswer } from '@sotto/contract/control/workspaces';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthOf } from '@sotto/state';
import type pg from 'pg';
import { byAccount, changedDetails, type Details, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { Refused } from '../database/refused.ts';
import type { budgets, workspaces } from '../database/schema.ts';
import { moveAlerts } from '../ledger/budget-alerts.ts';
import { largestSum, spentOf } from '../ledger/budget-months.ts';
import { lockAccount } from '../ledger/post-transaction.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { accessWorkspace, inWorkspace, type NoAccess } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

type Settings = SqlRow<typeof workspaces, 'alert_percents' | 'member_budget_nusd'>;

export interface NewBudgetSettings {
  readonly alertPercents: readonly number[];
  /** Undefined: members without a budget of their own have none. */
  readonly memberBudgetNusd: Nusd | undefined;
}

export async function readBudgetSettings(
  pool: pg.Pool,
  caller: InWorkspace,
): Promise<BudgetSettingsAnswer | Refused<NoAccess>> {
  const workspace = await accessWorkspace(pool, { ...caller, action: 'read' });
  return workspace instanceof Refused ? workspace : readSettings(pool, workspace.id);
}

async function readSettings(client: pg.Pool | pg.PoolClient, workspaceId: string): Promise<BudgetSettingsAnswer> {
  const { rows } = await client.query<Settings>(
    'select alert_percents, member_budget_nusd from workspaces where id = $1',
    [workspaceId],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the workspace is not there');
  return {
    alert_percents: row.alert_percents,
    member_budget_usd: row.member_budget_nusd === null ? null : nusdToUsd(BigInt(row.member_budget_nusd)),
  };
}

/** Sets at which percents a workspace’s budgets alert, from the next charge on, and the budget of members without one of their own. */
export async function setBudgetSettings(
  pool: pg.Pool,
  caller: InWorkspace,
  { alertPercents, memberBudgetNusd }: NewBudgetSettings,
  now: number,
): Promise<BudgetSettingsAnswer | Refused<NoAccess>> {
  return inWorkspace(pool, { ...caller, action: 'setBudgets' }, async (client, workspace) => {
    const before = await readSettings(client, workspace.id);
    const percents = [...new Set(alertPercents)].sort((a, b) => a - b);
    await client.query('update workspaces set alert_percents = $2, member_budget_nusd = $3 where id = $1', [
      workspace.id,
      percents,
      memberBudgetNusd ?? null,
    ]);
    await followDefault(client, workspace.id, now);
    const after = await readSettings(client, workspace.id);
    const details = changedDetails(toldSettings(before), toldSettings(after));
    const act = { actor: byAccount(caller.accountId), act: 'budget_settings_set', workspaceId: workspace.id } as const;
    if (Object.keys(details).length > 0) await recordAct(client, { ...act, details });
    return after;
  });
}

const toldSettings = ({ alert_percents, member_budget_usd }: BudgetSettingsAnswer): Details => ({
  ...{ alert_percents: alert_percents.join(', '), member_budget_usd },
});

/** SQL condition: a member lacks the budget of their workspace for members. `DueWork` asks it. */
export const defaultBudgetIsDue = `exists (${lacking('true')})`;

function lacking(where: string): string {
  return `select w.id from workspaces w join workspace_members m on m.workspace_id = w.id
    where w.member_budget_nusd is not null and w.deleted_at is null and ${where} and not exists (
      select from budgets b where b.workspace_id = w.id and b.member_id = m.account_id and b.limit_nusd is not null)`;
}

/** Gives members who joined the budget of their workspace. Returns the workspaces that changed. */
export async function giveDefaultBudgets(pool: pg.Pool, now: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(`select distinct id from (${lacking('true')}) l limit 100`);
  for (const { id } of rows) await giveDefaultBudget(pool, id, now);
  return rows.map(({ id }) => id);
}

/** Does the same for the members of one workspace. */
export async function giveDefaultBudget(pool: pg.Pool, workspaceId: string, now: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select 1 from workspaces where id = $1 for update', [workspaceId]);
    await followDefault(client, workspaceId, now);
  });
}

/**
 * Makes the default budgets of a workspace what its settings say: one for each member without a budget of their own, and none for former
 * members and the owner. Waits for bookings of the account that pays, as `setBudget` does. The caller holds the workspace’s lock, and no
 * account's. Removes another budget, too, if `removedId` names one, so that its member is never without any.
 */
export async function followDefault(
  client: pg.PoolClient,
  workspaceId: string,
  now: number,
  removedId?: string,
): Promise<void> {
  const { rows } = await client.query<
    Settings & SqlRow<typeof workspaces, 'account_id'> & { has_default: boolean; members: string[] }
  >(
    `select w.account_id, w.alert_percents, w.member_budget_nusd,
       exists (select from budgets b where b.workspace_id = w.id and b.is_default and b.limit_nusd is not null) as has_default,
       array(select m.account_id from workspace_members m where m.workspace_id = w.id and not exists (
         select from budgets b where b.workspace_id = w.id and b.member_id = m.account_id and b.limit_nusd is not null
           and b.id is distinct from $2 and (not b.is_default or b.limit_nusd = w.member_budget_nusd))) as members
     from workspaces w where w.id = $1 and w.deleted_at is null`,
    [workspaceId, removedId ?? null],
  );
  const [workspace] = rows;
  if (workspace === undefined) return;
  const { account_id: accountId, alert_percents: alertPercents, member_budget_nusd: limit } = workspace;
  const lackingIt = limit === null ? [] : workspace.members;
  if (limit === null && !workspace.has_default && removedId === undefined) return;
  // A booking locks accounts in this order, too. The row of a member’s budget locks the member’s account.
  for (const id of [...new Set([accountId, ...lackingIt])].sort()) await lockAccount(client, id);
  if (removedId !== undefined) {
    await removeBudgets(client, { where: 'b.id = $1', values: [removedId] });
    await client.query('delete from budget_alerts where budget_id = $1', [removedId]);
  }
  await removeBudgets(client, {
    where: `b.workspace_id = $1 and b.is_default and ($2::bigint is null or not exists (
      select from workspace_members m where m.workspace_id = b.workspace_id and m.account_id = b.member_id))`,
    values: [workspaceId, limit],
  });
  if (lackingIt.length === 0) return;
  const month = monthOf(now);
  const given = await client.query<SqlRow<typeof budgets, 'id'> & { spent_nusd: string }>(
    `with given as (
       insert into budgets (id, workspace_id, member_id, limit_nusd, is_default)
       select gen_random_uuid(), $1, m.account_id, $3, true from workspace_members m
         where m.workspace_id = $1 and m.account_id = any($2::uuid[])
       on conflict (workspace_id, member_id, key_id, tag_id) do update
         set limit_nusd = excluded.limit_nusd, is_default = true, version = budgets.version + 1
       returning id, workspace_id, member_id, key_id, tag_id)
     select b.id, (select ${largestSum}::text from ${spentOf('$5')} where m.month = $4) as spent_nusd from given b`,
    [workspaceId, lackingIt, limit, month, accountId],
  );
  await moveAlerts(
    client,
    given.rows.map(({ id: budgetId, spent_nusd }) => ({
      ...{ budgetId, accountId, month, alertPercents },
      ...{ limitNusd: BigInt(limit ?? 0), spentNusd: BigInt(spent_nusd) },
    })),
  );
}
