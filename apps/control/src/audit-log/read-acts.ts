import {
  type ActAnswer,
  type ActName,
  type ActPage,
  type ActQuery,
  actPageSchema,
} from '@sotto/contract/control/audit';
import type { FastifyReply } from 'fastify';
import type pg from 'pg';
import type { acts } from '../database/administration-schema.ts';
import type { SqlRow } from '../database/columns.ts';
import { sendCsv, wantsCsv } from '../serve/csv.ts';
import { exportedRows, type PageQuery, pageOf, type RowsQuery, readCursor } from '../serve/page-cursor.ts';

/** The acts to read: all of them, those in a workspace, or those that concern an account. */
export interface ActFilter {
  readonly workspaceId?: string;
  readonly accountId?: string | undefined;
  readonly acts?: readonly ActName[] | undefined;
  readonly actorAccountId?: string | undefined;
  /** Shows which operator acted. */
  readonly showsOperators?: boolean;
}

/** An answer as JSON, or as CSV on `reply`. */
export interface ActExchange {
  readonly query: ActQuery;
  readonly reply: FastifyReply;
}

const columns = ['id', 'at', 'actor', 'actor_account_id', 'act', 'account_id', 'workspace_id', 'details'] as const;

/** Answers with acts, newest first. */
export async function answerActs(
  pool: pg.Pool,
  filter: ActFilter,
  { query: { cursor, limit, format, act: acts, actor_account_id: actorAccountId }, reply }: ActExchange,
): Promise<ActPage | FastifyReply> {
  const asked = { ...filter, acts, actorAccountId };
  if (wantsCsv(format, reply.request.headers.accept))
    return sendCsv(reply, { filename: 'audit.csv', columns, pages: exportActs(pool, asked) });
  return readActs(pool, asked, { cursor, limit });
}

/** Returns a page of acts, newest first. */
export async function readActs(pool: pg.Pool, filter: ActFilter, { cursor, limit }: PageQuery): Promise<ActPage> {
  const rows = await readRows(pool, filter, { after: readCursor(cursor), limit: limit + 1 });
  return pageOf(rows, limit, { endOf: (row) => row, toAnswer: (row) => toAnswer(row, filter) });
}

async function* exportActs(
  pool: pg.Pool,
  filter: ActFilter,
): AsyncGenerator<(Omit<ActAnswer, 'details'> & { readonly details: string })[]> {
  for await (const rows of exportedRows((query) => readRows(pool, filter, query)))
    yield rows.map((row) => ({ ...toAnswer(row, filter), details: JSON.stringify(row.details) }));
}

type Row = SqlRow<typeof acts>;

async function readRows(
  pool: pg.Pool,
  { workspaceId, accountId, acts, actorAccountId, showsOperators = false }: ActFilter,
  { after, limit }: RowsQuery,
): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select ${columns.join(', ')} from acts
     where ($1::uuid is null or workspace_id = $1) and ($2::uuid is null or account_id = $2)
       and ($3::timestamptz is null or (at, id) < ($3::timestamptz, $4::uuid))
       and ($6::text[] is null or act = any($6))
       and ($7::uuid is null or (actor_account_id = $7 and ($8 or actor <> 'operator')))
     order by at desc, id desc limit $5`,
    [
      workspaceId ?? null,
      accountId ?? null,
      after?.at ?? null,
      after?.id ?? null,
      limit,
      acts ?? null,
      actorAccountId ?? null,
      // The answer hides which operator acted, so a filter must not tell it either.
      showsOperators,
    ],
  );
  return rows;
}

const toAnswer = (row: Row, { showsOperators = false }: ActFilter): ActAnswer =>
  actPageSchema.shape.data.element.parse({
    ...row,
    at: row.at.toISOString(),
    actor_account_id: row.actor === 'operator' && !showsOperators ? null : row.actor_account_id,
  });
