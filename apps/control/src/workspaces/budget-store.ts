import { randomUUID } from 'node:crypto';
import type { BudgetAnswer } from '@sotto/contract/control/workspaces';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthAfter, monthOf } from '@sotto/state';
import type pg from 'pg';
import { type Act, byAccount, recordAct } from '../audit-log/record-act.ts';
import type { SqlRow } from '../database/columns.ts';
import { Refused, refused } from '../database/refused.ts';
import type { budgets, workspaces } from '../database/schema.ts';
import { moveAlerts } from '../ledger/budget-alerts.ts';
import { largestSum, scopeOf, spentOf } from '../ledger/budget-months.ts';
import { lockAccount } from '../ledger/post-transaction.ts';
import { tagIdOf } from '../ledger/tag-id.ts';
import { type AtMaximum, atMaximum, budgetCounts, type Creation } from '../limits/maximum.ts';
import { oldestFirst, type PageQuery } from '../serve/page-cursor.ts';
import { followDefault } from './budget-settings.ts';
import { accessWorkspace, inWorkspace, type NoAccess } from './workspace-access.ts';
import type { InWorkspace } from './workspace-store.ts';

type Row = SqlRow<
  typeof budgets,
  'id' | 'workspace_id' | 'member_id' | 'key_id' | 'tag_id' | 'tag' | 'limit_nusd' | 'is_default' | 'created_at'
> &
  SqlRow<typeof workspaces, 'alert_percents'> & { spent_nusd: string };

export async function listBudgets(
  pool: pg.Pool,
  caller: InWorkspace,
  { page, now }: { readonly page: PageQuery; readonly now: number },
): Promise<{ data: BudgetAnswer[]; next_cursor: string | null } | Refused<NoAccess>> {
  const workspace = await accessWorkspace(pool, { ...caller, action: 'read' });
  if (workspace instanceof Refused) return workspace;
  const month = monthOf(now);
  const select = `${selectBudgets} where b.workspace_id = $1 and b.limit_nusd is not null`;
  const list = { select, values: [caller.workspaceId, month], at: 'b.created_at', id: 'b.id' };
  return oldestFirst<Row, BudgetAnswer>(pool, list, page, {
    endOf: (row) => ({ at: row.created_at, id: row.id }),
    toAnswer: (row) => toAnswer(row, month),
  });
}

/** A budget to set: of the workspace, or of a member, a tag or a key in it. */
export interface NewBudget {
  readonly limitNusd: Nusd;
  readonly memberId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly tag?: string | null | undefined;
}

/**
 * Sets a budget. Waits for bookings of the account that pays, so that the budget's spending has every charge whose booking did not
 * see the budget, and so that each booking alerts by one limit.
 */
export async function setBudget(
  pool: pg.Pool,
  caller: InWorkspace & Pick<Creation, 'maxima'>,
  { limitNusd, memberId, keyId, tag }: NewBudget,
  now: number,
): Promise<BudgetAnswer | Refused<NoAccess | AtMaximum | { readonly why: 'no_member' } | { readonly why: 'no_key' }>> {
  return inWorkspace(pool, { ...caller, action: 'setBudgets' }, async (client, { id: workspaceId, accountId }) => {
    // A booking locks accounts in this order, too. The row of a member’s budget locks the member’s account.
    for (const id of [...new Set([accountId, memberId ?? accountId])].sort()) await lockAccount(client, id);
    if (memberId !== undefined && !(await isMember(client, { workspaceId, accountId, memberId })))
      return refused('no_member');
    if (keyId !== undefined && !(await hasKey(client, { workspaceId, accountId, keyId }))) return refused('no_key');
    const limited = [workspaceId, memberId ?? null, keyId ?? null, tagIdOf(workspaceId, tag ?? null) ?? null];
    // Only a budget that does not count yet is another one.
    const present = await client.query(
      `select 1 from budgets b where workspace_id = $1 and member_id is not distinct from $2 and key_id is not distinct from $3
         and tag_id is not distinct from $4 and ${budgetCounts}`,
      limited,
    );
    const full =
      present.rowCount === 0 ? await atMaximum(client, 'budgets', { accountId, maxima: caller.maxima }) : undefined;
    if (full !== undefined) return full;
    const { rows } = await client.query<{ id: string }>(
      `insert into budgets (workspace_id, member_id, key_id, tag_id, id, tag, limit_nusd) values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (workspace_id, member_id, key_id, tag_id) do update
         set limit_nusd = excluded.limit_nusd, is_default = false, version = budgets.version + 1
       returning id`,
      [...limited, randomUUID(), tag ?? null, limitNusd],
    );
    const month = monthOf(now);
    const read = await client.query<Row>(`${selectBudgets} where b.id = $1`, [rows[0]?.id, month]);
    const [budget] = read.rows;
    if (budget === undefined) throw new Error('the budget was not set');
    await moveAlerts(client, [
      {
        ...{ budgetId: budget.id, accountId, month, limitNusd, alertPercents: budget.alert_percents },
        spentNusd: BigInt(budget.spent_nusd),
      },
    ]);
    await recordAct(client, {
      ...{ actor: byAccount(caller.accountId), act: 'budget_set', workspaceId, accountId: memberId },
      details: toldBudget({ ...budget, limit_nusd: String(limitNusd) }),
    });
    return toAnswer(budget, month);
  });
}

/** Removes a budget. If it is set again, it alerts again. A member gets the default budget of the workspace instead, if it has one. */
export async function removeBudget(
  pool: pg.Pool,
  caller: InWorkspace,
  budgetId: string,
  now: number,
): Promise<Refused<NoAccess | { readonly why: 'no_budget' } | { readonly why: 'default_budget' }> | undefined> {
  return inWorkspace(pool, { ...caller, action: 'setBudgets' }, async (client, { id }) => {
    const { rows } = await client.query<ToldBudget & Pick<Row, 'is_default'>>(
      'select id, member_id, key_id, tag_id, limit_nusd, is_default from budgets where id = $1 and workspace_id = $2 and limit_nusd is not null',
      [budgetId, id],
    );
    const [budget] = rows;
    if (budget === undefined) return refused('no_budget');
    if (budget.is_default) return refused('default_budget');
    await followDefault(client, id, now, budgetId);
    await recordAct(client, {
      ...{ actor: byAccount(caller.accountId), act: 'budget_removed', workspaceId: id },
      ...{ accountId: budget.member_id ?? undefined, details: toldBudget(budget) },
    });
    return undefined;
  });
}

type ToldBudget = SqlRow<typeof budgets, 'id' | 'member_id' | 'key_id' | 'tag_id' | 'limit_nusd'>;

/** A budget as the audit log tells it, with the limit that is set or removed. The act concerns its member. */
const toldBudget = (budget: ToldBudget): NonNullable<Act['details']> => ({
  ...{ budget_id: budget.id, scope: scopeOf(budget), limit_usd: nusdToUsd(BigInt(budget.limit_nusd ?? 0)) },
  ...(budget.key_id === null ? {} : { key_id: budget.key_id }),
});

/** `$2` is the month. */
const selectBudgets = `
  select b.id, b.workspace_id, b.member_id, b.key_id, b.tag_id, b.tag, b.limit_nusd, b.is_default, b.created_at, w.alert_percents,
    (select ${largestSum}::text from ${spentOf('w.account_id')} where m.month = $2) as spent_nusd
  from budgets b join workspaces w on w.id = b.workspace_id`;

const toAnswer = (row: Row, month: string): BudgetAnswer => ({
  ...{ id: row.id, scope: scopeOf(row), member_id: row.member_id, key_id: row.key_id, tag: row.tag },
  ...{ is_default: row.is_default, month },
  limit_usd: nusdToUsd(BigInt(row.limit_nusd ?? 0)),
  spent_usd: nusdToUsd(BigInt(row.spent_nusd)),
  month_ends_at: `${monthAfter(month)}-01T00:00:00Z`,
});

async function isMember(
  client: pg.PoolClient,
  { workspaceId, accountId, memberId }: { workspaceId: string; accountId: string; memberId: string },
): Promise<boolean> {
  if (memberId === accountId) return true;
  const found = await client.query('select 1 from workspace_members where workspace_id = $1 and account_id = $2', [
    workspaceId,
    memberId,
  ]);
  return found.rowCount === 1;
}

/**
 * Whether the key is active, and stays so until this transaction ends. Whoever ends a grant revokes its key without the workspace's lock,
 * and then removes its budgets, of which it would not see the new one. A booking may go on.
 */
async function hasKey(
  client: pg.PoolClient,
  { workspaceId, accountId, keyId }: { workspaceId: string; accountId: string; keyId: string },
): Promise<boolean> {
  const found = await client.query(
    'select 1 from api_keys where id = $1 and workspace_id = $2 and account_id = $3 and revoked_at is null for key share',
    [keyId, workspaceId, accountId],
  );
  return found.rowCount === 1;
}
