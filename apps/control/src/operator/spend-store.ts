import {
  type OperatorSpendAnswer,
  type OperatorSpendQuery,
  operatorSpendAnswerSchema,
} from '@sotto/contract/control/operator';
import { nusdToDecimal, nusdToUsd } from '@sotto/money';
import type pg from 'pg';
import { type DayRange, dateOf, monthsOf } from '../usage/day-range.ts';
import { readSpendCursor, type SpendCursor, writeSpendCursor } from './spend-cursor.ts';

/** What operators may know of usage: never a model, a key or a single request. */
export interface SpendQuestion extends Pick<OperatorSpendQuery, 'account_id' | 'workspace_id'> {
  readonly days: DayRange;
}

type SpendRow = OperatorSpendAnswer['data'][number];

/** A row of a CSV export, with the cost to the nano-dollar. */
export type ExportedSpend = Omit<SpendRow, 'cost'> & { readonly cost: string };

/** The columns of CSV are the fields of JSON, in their order. */
export const spendColumns = operatorSpendAnswerSchema.shape.data.element.keyof().options;

interface Row extends Omit<ExportedSpend, 'cost' | 'requests'> {
  readonly requests: string;
  readonly cost_nusd: string;
  readonly all_requests: string;
  readonly all_cost_nusd: string;
}

/**
 * Returns a page of the answer of `GET /operator/spend`. A sum that changes meanwhile moves its row, which may then be on two
 * pages or on none.
 */
export async function readSpend(
  pool: pg.Pool,
  question: SpendQuestion,
  { limit, cursor }: Pick<OperatorSpendQuery, 'limit' | 'cursor'>,
): Promise<OperatorSpendAnswer> {
  const after = cursor === undefined ? undefined : readSpendCursor(cursor);
  const rows = await readRows(pool, question, { after, limit: limit + 1 });
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  const [first] = rows;
  return operatorSpendAnswerSchema.parse({
    data: data.map((row) => ({ ...toExport(row), cost: nusdToUsd(BigInt(row.cost_nusd)) })),
    total: { requests: Number(first?.all_requests ?? 0), cost: nusdToUsd(BigInt(first?.all_cost_nusd ?? 0)) },
    next_cursor: last === undefined ? null : writeSpendCursor(last),
  });
}

/** Yields all rows in the same order, one month at a time. No connection is held between months. */
export async function* exportSpend(pool: pg.Pool, question: SpendQuestion): AsyncGenerator<ExportedSpend[]> {
  for (const days of monthsOf(question.days).toReversed()) {
    const rows = await readRows(pool, { ...question, days });
    if (rows.length > 0) yield rows.map(toExport);
  }
}

async function readRows(
  pool: pg.Pool,
  { days, account_id: accountId, workspace_id: workspaceId }: SpendQuestion,
  { after, limit }: { readonly after?: SpendCursor | undefined; readonly limit?: number } = {},
): Promise<Row[]> {
  const values: unknown[] = [dateOf(days.from), dateOf(days.to)];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  if (accountId !== undefined) {
    const account = bind(accountId);
    conditions.push(`(k.account_id = ${account} or k.created_by = ${account})`);
  }
  if (workspaceId !== undefined) conditions.push(`k.workspace_id = ${bind(workspaceId)}`);
  const ofKeys =
    conditions.length === 0
      ? ''
      : `and (r.account_id, r.key_id) in (select k.account_id, k.id from api_keys k where ${conditions.join(' and ')})`;
  const place = after?.map(bind);
  const beyond =
    place === undefined
      ? ''
      : `where (s.month, s.cost_nusd) < (${place[0]}, ${place[1]}::bigint) or ((s.month, s.cost_nusd) = (${place[0]}, ${place[1]}::bigint)
           and (s.workspace_id, s.payer_id, s.member_id) > (${place[2]}::uuid, ${place[3]}::uuid, ${place[4]}::uuid))`;
  const order = 'order by s.month desc, s.cost_nusd desc, s.workspace_id, s.payer_id, s.member_id';
  // Each step leaves fewer rows: those of keys, those of members, and those of the page, which alone are named.
  const { rows } = await pool.query<Row>(
    `select s.*, w.name as workspace_name, pu.email as payer_email, mu.email as member_email
     from (
       select * from (
         select to_char(r.month, 'YYYY-MM') as month, k.workspace_id, k.account_id as payer_id, k.created_by as member_id,
           sum(r.requests)::bigint as requests, sum(r.cost_nusd)::bigint as cost_nusd,
           sum(sum(r.requests)) over () as all_requests, sum(sum(r.cost_nusd)) over () as all_cost_nusd
         from (
           select date_trunc('month', r.day::timestamp) as month, r.key_id, sum(r.requests) as requests, sum(r.cost_nusd) as cost_nusd
           from usage_daily_keys r
           where r.day >= $1::date and r.day < $2::date ${ofKeys} group by 1, 2
         ) r join api_keys k on k.id = r.key_id
         where not exists (select from wallets where wallets.account_id = k.account_id)
         group by r.month, k.workspace_id, k.account_id, k.created_by
       ) s ${beyond} ${order} ${limit === undefined ? '' : `limit ${bind(limit)}`}
     ) s
     join workspaces w on w.id = s.workspace_id
     join accounts p on p.id = s.payer_id left join auth_user pu on pu.id = p.user_id
     join accounts m on m.id = s.member_id left join auth_user mu on mu.id = m.user_id
     ${order}`,
    values,
  );
  return rows;
}

const toExport = ({ month, workspace_id, workspace_name, payer_id, payer_email, ...row }: Row): ExportedSpend => ({
  ...{ month, workspace_id, workspace_name, payer_id, payer_email },
  ...{ member_id: row.member_id, member_email: row.member_email },
  requests: Number(row.requests),
  cost: nusdToDecimal(BigInt(row.cost_nusd)),
});
