import { type ActAnswer, type ActPage, type ActQuery, actPageSchema } from '@sotto/contract/control/audit';
import type { OperatorActQuery } from '@sotto/contract/control/operator';
import type { FastifyReply } from 'fastify';
import type pg from 'pg';
import type { acts } from '../database/administration-schema.ts';
import type { SqlRow } from '../database/columns.ts';
import { isUuid } from '../database/is-uuid.ts';
import { sendCsv, wantsCsv } from '../serve/csv.ts';
import { exportedRows, type PageQuery, pageOf, type RowsQuery, readCursor } from '../serve/page-cursor.ts';
import { type ActNames, type ActReader, readNames } from './name-acts.ts';

/** The filters of a log. The last three are for operators. */
export type ActFilters = Omit<ActQuery, 'cursor' | 'limit' | 'format'> &
  Partial<Pick<OperatorActQuery, 'account_id' | 'workspace_id' | 'search'>>;

/** An answer as JSON, or as CSV on `reply`. */
export interface ActExchange {
  readonly query: ActQuery & ActFilters;
  readonly reply: FastifyReply;
}

const columns = ['id', 'at', 'actor', 'actor_account_id', 'act', 'account_id', 'workspace_id', 'details'] as const;
/** The columns of CSV are the fields of JSON, in their order. */
const exportedColumns = actPageSchema.shape.data.element.keyof().options;

/** Answers with acts, newest first. */
export async function answerActs(
  pool: pg.Pool,
  reader: ActReader,
  { query: { cursor, limit, format, ...filters }, reply }: ActExchange,
): Promise<ActPage | FastifyReply> {
  if (wantsCsv(format, reply.request.headers.accept))
    return sendCsv(reply, {
      filename: 'audit.csv',
      columns: exportedColumns,
      pages: exportActs(pool, reader, filters),
    });
  return readActs(pool, reader, { cursor, limit, ...filters });
}

/** Returns a page of acts, newest first. */
export async function readActs(
  pool: pg.Pool,
  reader: ActReader,
  { cursor, limit, ...filters }: PageQuery & ActFilters,
): Promise<ActPage> {
  const rows = await readRows(pool, reader, filters, { after: readCursor(cursor), limit: limit + 1 });
  const page = pageOf(rows, limit, { endOf: (row) => row, toAnswer: (row) => row });
  return { ...page, data: await nameRows(pool, reader, page.data) };
}

async function* exportActs(
  pool: pg.Pool,
  reader: ActReader,
  filters: ActFilters,
): AsyncGenerator<(Omit<ActAnswer, 'details'> & { readonly details: string })[]> {
  for await (const rows of exportedRows((query) => readRows(pool, reader, filters, query)))
    yield (await nameRows(pool, reader, rows)).map((act) => ({ ...act, details: JSON.stringify(act.details) }));
}

type Row = Omit<SqlRow<typeof acts>, 'details'> & { readonly details: ActAnswer['details'] };

async function readRows(
  pool: pg.Pool,
  reader: ActReader,
  filters: ActFilters,
  { after, limit }: RowsQuery,
): Promise<Row[]> {
  const values: unknown[] = [];
  const bind: Bind = (value) => `$${values.push(value)}`;
  // Adds only the filters in use, because a condition that may be void would keep Postgres from using an index.
  const conditions: string[] = [];
  const workspaceId = reader.kind === 'admin' ? reader.workspaceId : filters.workspace_id;
  const accountId = reader.kind === 'person' ? reader.accountId : filters.account_id;
  if (workspaceId !== undefined) conditions.push(`workspace_id = ${bind(workspaceId)}`);
  if (accountId !== undefined) conditions.push(`account_id = ${bind(accountId)}`);
  if (filters.from !== undefined) conditions.push(`at >= ${bind(filters.from)}`);
  if (filters.to !== undefined) conditions.push(`at < ${bind(filters.to)}`);
  if (filters.act !== undefined) conditions.push(ofKinds(filters.act, bind));
  if (filters.actor !== undefined) conditions.push(`actor = ${bind(filters.actor)}`);
  if (filters.actor_account_id !== undefined) {
    conditions.push(`actor_account_id = ${bind(filters.actor_account_id)}`);
    // The answer hides which operator acted, so a filter must not tell it either.
    if (reader.kind !== 'operator') conditions.push("actor <> 'operator'");
  }
  if (after !== undefined) conditions.push(`(at, id) < (${bind(after.at)}::timestamptz, ${bind(after.id)}::uuid)`);
  const most = bind(limit);
  const inOrder = `order by at desc, id desc limit ${most}`;
  const select = (more: readonly string[]): string => {
    const all = [...conditions, ...more];
    return `select ${columns.join(', ')} from acts ${all.length === 0 ? '' : `where ${all.join(' and ')}`} ${inOrder}`;
  };
  const found = filters.search === undefined ? undefined : await findAccounts(pool, filters.search);
  const sql =
    found === undefined
      ? select([])
      : found.length > fewAccounts
        ? select([concerning(bind(found))])
        : `select * from (${ofEach(bind(found), select)}) acts ${inOrder}`;
  return (await pool.query<Row>(sql, values)).rows;
}

type Bind = (value: unknown) => string;

/** SQL: acts of these kinds. An index in the order of the answer finds those of one. */
const ofKinds = (kinds: readonly string[], bind: Bind): string =>
  kinds.length === 1 ? `act = ${bind(kinds[0])}` : `act = any(${bind(kinds)}::text[])`;

/** Of more accounts, the newest acts of all are read until there are enough of theirs. */
const fewAccounts = 100;

/** Returns the accounts whose address contains a text, and the one with this id. */
async function findAccounts(pool: pg.Pool, text: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'select a.id from accounts a join auth_user u on u.id = a.user_id where position($1 in u.email) > 0',
    [text.toLowerCase()],
  );
  return [...rows.map(({ id }) => id), ...(isUuid(text) ? [text] : [])];
}

/** SQL: acts by or about these accounts. */
const concerning = (ids: string): string =>
  `(account_id = any(${ids}::uuid[]) or actor_account_id = any(${ids}::uuid[]))`;

/** SQL: the newest acts by or about each of these accounts, each once. */
const ofEach = (ids: string, select: (more: readonly string[]) => string): string =>
  [['account_id = found.id'], ['actor_account_id = found.id', `(account_id = any(${ids}::uuid[])) is not true`]]
    .map((more) => `select a.* from unnest(${ids}::uuid[]) as found (id) cross join lateral (${select(more)}) a`)
    .join(' union all ');

/** An operator who acted is hidden from all but operators. */
const actorOf = (row: Row, reader: ActReader): string | null =>
  row.actor === 'operator' && reader.kind !== 'operator' ? null : row.actor_account_id;

async function nameRows(pool: pg.Pool, reader: ActReader, rows: readonly Row[]): Promise<ActAnswer[]> {
  const names = await readNames(
    pool,
    reader,
    rows.flatMap((row) => [
      ...[actorOf(row, reader), row.account_id, row.workspace_id],
      ...[row.details.key_id, row.details.budget_id, row.details.invitation_id],
    ]),
  );
  return rows.map((row) => toAnswer(row, reader, names));
}

const toAnswer = (row: Row, reader: ActReader, names: ActNames): ActAnswer => {
  const actorAccountId = actorOf(row, reader);
  const nameOf = (id: unknown): string | null => names.get(id) ?? null;
  return actPageSchema.shape.data.element.parse({
    ...row,
    at: row.at.toISOString(),
    actor_account_id: actorAccountId,
    actor_email: nameOf(actorAccountId),
    account_email: nameOf(row.account_id),
    workspace_name: nameOf(row.workspace_id),
    key_name: nameOf(row.details.key_id),
    tag: nameOf(row.details.budget_id),
    invited_email: nameOf(row.details.invitation_id),
  });
};
