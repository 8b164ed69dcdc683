import { randomUUID } from 'node:crypto';
import type { BudgetAnswer, SetBudget } from '@sotto/contract/control/workspaces';
import { nusdToUsd, usdToNusd } from '@sotto/money';
import { monthAfter, monthOf } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { inTransaction } from '../database/in-transaction.ts';
import type { budgets } from '../database/schema.ts';
import { moveAlerts } from '../ledger/budget-alerts.ts';
import { keysOfBudget, largestSum, scopeOf } from '../ledger/budget-months.ts';
import { lockAccount } from '../ledger/post-transaction.ts';
import { removeBudgets } from '../ledger/remove-budgets.ts';
import { assertBelowMaximum, type Creation } from '../limits/maximum.ts';
import { notFound } from '../serve/not-found.ts';
import { oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { lockWorkspace, requireWorkspace } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

type Row = SqlRow<typeof budgets, 'id' | 'workspace_id' | 'member_id' | 'key_id' | 'limit_nusd' | 'created_at'> & {
  spent_nusd: string;
};

export async function listBudgets(
  pool: pg.Pool,
  caller: InWorkspace,
  { page, now }: { readonly page: PageQuery; readonly now: number },
): Promise<{ data: BudgetAnswer[]; next_cursor: string | null }> {
  await requireWorkspace(pool, { ...caller, action: 'read' });
  const month = monthOf(now);
  const select = `${selectBudgets} where b.workspace_id = $1 and b.limit_nusd is not null`;
  const list = { select, values: [caller.workspaceId, month], at: 'b.created_at', id: 'b.id' };
  return oldestFirst<Row, BudgetAnswer>(pool, list, page, {
    endOf: (row) => ({ at: row.created_at, id: row.id }),
    toAnswer: (row) => toAnswer(row, month),
  });
}

/**
 * Sets a budget. Waits for bookings of the account that pays, so that the budget's spending has every charge whose booking did not
 * see the budget, and so that each booking alerts by one limit.
 */
export async function setBudget(
  pool: pg.Pool,
  caller: InWorkspace & Pick<Creation, 'maxima'>,
  { limit_usd, member_id, key_id }: SetBudget,
  now: number,
): Promise<BudgetAnswer> {
  const limitNusd = usdToNusd(limit_usd);
  if (limitNusd === undefined) {
    const message = `\`limit_usd\` is ${limit_usd}; it takes at most nine decimals.`;
    throw new ServiceError('invalid_request', { message, param: 'limit_usd' });
  }
  return inTransaction(pool, async (client) => {
    const { id: workspaceId, accountId } = await lockWorkspace(client, { ...caller, action: 'setBudgets' });
    // A booking locks accounts in this order, too. The row of a member’s budget locks the member’s account.
    for (const id of [...new Set([accountId, member_id ?? accountId])].sort()) await lockAccount(client, id);
    if (member_id !== undefined) await requireMember(client, { workspaceId, accountId, memberId: member_id });
    if (key_id !== undefined) await requireKey(client, { workspaceId, accountId, keyId: key_id });
    // Only a budget that is not there yet counts as another one.
    const present = await client.query(
      `select 1 from budgets where workspace_id = $1 and member_id is not distinct from $2 and key_id is not distinct from $3
         and limit_nusd is not null`,
      [workspaceId, member_id ?? null, key_id ?? null],
    );
    if (present.rowCount === 0) await assertBelowMaximum(client, 'budgets', { accountId, maxima: caller.maxima });
    const { rows } = await client.query<{ id: string }>(
      `insert into budgets (id, workspace_id, member_id, key_id, limit_nusd) values ($1, $2, $3, $4, $5)
       on conflict (workspace_id, member_id, key_id) do update
         set limit_nusd = excluded.limit_nusd, version = budgets.version + 1
       returning id`,
      [randomUUID(), workspaceId, member_id ?? null, key_id ?? null, limitNusd],
    );
    const month = monthOf(now);
    const read = await client.query<Row>(`${selectBudgets} where b.id = $1`, [rows[0]?.id, month]);
    const [budget] = read.rows;
    if (budget === undefined) throw new Error('the budget was not set');
    await moveAlerts(client, {
      ...{ budgetId: budget.id, accountId, month, limitNusd },
      spentNusd: BigInt(budget.spent_nusd),
    });
    await recordAct(client, {
      ...{ actor: byAccount(caller.accountId), act: 'budget_set', workspaceId },
      details: { budget_id: budget.id, scope: scopeOf(budget), limit_usd },
    });
    return toAnswer(budget, month);
  });
}

/** Removes a budget. If it is set again, it alerts again. */
export async function removeBudget(pool: pg.Pool, caller: InWorkspace, budgetId: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { id, accountId } = await lockWorkspace(client, { ...caller, action: 'setBudgets' });
    await lockAccount(client, accountId);
    const removed = await removeBudgets(client, { where: 'b.id = $1 and b.workspace_id = $2', values: [budgetId, id] });
    if (removed === 0) throw notFound('budget');
    await client.query('delete from budget_alerts where budget_id = $1', [budgetId]);
    const act = { actor: byAccount(caller.accountId), act: 'budget_removed', workspaceId: id } as const;
    await recordAct(client, { ...act, details: { budget_id: budgetId } });
  });
}

/** `$2` is the month. */
const selectBudgets = `
  select b.id, b.workspace_id, b.member_id, b.key_id, b.limit_nusd, b.created_at,
    (select ${largestSum}::text from api_keys k join key_months m on m.key_id = k.id
     where m.month = $2 and ${keysOfBudget('w.account_id')}) as spent_nusd
  from budgets b join workspaces w on w.id = b.workspace_id`;

const toAnswer = (row: Row, month: string): BudgetAnswer => ({
  ...{ id: row.id, scope: scopeOf(row), member_id: row.member_id, key_id: row.key_id, month },
  limit_usd: nusdToUsd(BigInt(row.limit_nusd ?? 0)),
  spent_usd: nusdToUsd(BigInt(row.spent_nusd)),
  month_ends_at: `${monthAfter(month)}-01T00:00:00Z`,
});

async function requireMember(
  client: pg.PoolClient,
  { workspaceId, accountId, memberId }: { workspaceId: string; accountId: string; memberId: string },
): Promise<void> {
  if (memberId === accountId) return;
  const found = await client.query('select 1 from workspace_members where workspace_id = $1 and account_id = $2', [
    workspaceId,
    memberId,
  ]);
  if (found.rowCount === 0) throw notFound('member');
}

async function requireKey(
  client: pg.PoolClient,
  { workspaceId, accountId, keyId }: { workspaceId: string; accountId: string; keyId: string },
): Promise<void> {
  const found = await client.query(
    'select 1 from api_keys where id = $1 and workspace_id = $2 and account_id = $3 and revoked_at is null',
    [keyId, workspaceId, accountId],
  );
  if (found.rowCount === 0) throw notFound('key');
}
