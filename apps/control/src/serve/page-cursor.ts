import { ServiceError } from '@sotto/wire';
import type pg from 'pg';

/** The end of a page: time and id of its last row. */
interface PageCursor {
  readonly at: Date;
  readonly id: string;
}

/** The page that a caller asks for. Without a cursor, the first. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The rows to read: at most `limit`, after the end of another page. */
export interface RowsQuery {
  readonly after: PageCursor | undefined;
  readonly limit: number;
}

/** Makes a page of `limit` answers from rows that were read with a limit of one more. `endOf` is the place of a row. */
export function pageOf<Row, Answer>(
  rows: readonly Row[],
  limit: number,
  { endOf, toAnswer }: { readonly endOf: (row: Row) => PageCursor; readonly toAnswer: (row: Row) => Answer },
): { data: Answer[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data: page.map((row) => toAnswer(row)), next_cursor: more ? writeCursor(endOf(last)) : null };
}

/** The reading of a list that is in the order of creation. */
export const byCreation = <Row extends { readonly created_at: Date; readonly id: string }, Answer>(
  toAnswer: (row: Row) => Answer,
) => ({ endOf: (row: Row): PageCursor => ({ at: row.created_at, id: row.id }), toAnswer });

/** A list to page: its SQL up to a condition, the values of that, and the SQL of the time and the id that its rows are in order of. */
interface ListQuery {
  readonly select: string;
  readonly values: readonly unknown[];
  readonly at: string;
  readonly id: string;
}

/** Reads a page of a list, the oldest first. `select` ends with a condition. Postgres has microseconds, which a cursor has not. */
export async function oldestFirst<Row extends pg.QueryResultRow, Answer>(
  client: pg.Pool | pg.PoolClient,
  { select, values, at, id }: ListQuery,
  { limit, cursor }: PageQuery,
  reading: { readonly endOf: (row: Row) => PageCursor; readonly toAnswer: (row: Row) => Answer },
): Promise<{ data: Answer[]; next_cursor: string | null }> {
  const after = readCursor(cursor);
  const [time, after1, after2, most] = [
    `date_trunc('milliseconds', ${at})`,
    ...[1, 2, 3].map((place) => `$${values.length + place}`),
  ];
  const { rows } = await client.query<Row>(
    `${select} and (${after1}::timestamptz is null or (${time}, ${id}) > (${after1}::timestamptz, ${after2}::uuid))
     order by ${time}, ${id} limit ${most}`,
    [...values, after?.at ?? null, after?.id ?? null, limit + 1],
  );
  return pageOf(rows, limit, reading);
}

const writeCursor = ({ at, id }: PageCursor): string => Buffer.from(`${at.toISOString()} ${id}`).toString('base64url');

/** An id as Postgres writes it. `isUuid` also takes the capitals that callers may send. */
export const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Reads a cursor of `pageOf`. Throws `invalid_request` for any other text. */
export function readCursor(text: string | undefined, idPattern: RegExp = uuidPattern): PageCursor | undefined {
  if (text === undefined) return undefined;
  const [at = '', id = ''] = Buffer.from(text, 'base64url').toString('utf8').split(' ');
  const instant = new Date(at);
  // A year of more or fewer digits than four is none of ours, and Postgres cannot read some of them.
  const isOurs = /^\d{4}-/.test(at) && !Number.isNaN(instant.getTime()) && instant.toISOString() === at;
  if (!isOurs || !idPattern.test(id)) throw badCursor();
  return { at: instant, id };
}

export const badCursor = (): ServiceError =>
  new ServiceError('invalid_request', {
    ...{ message: '`cursor` must be the `next_cursor` of an earlier page.', param: 'cursor' },
  });

type ReadPage<Entry> = (
  cursor: string | undefined,
) => Promise<{ readonly data: readonly Entry[]; readonly next_cursor: string | null }>;

/** Yields every entry of a list that is read page by page. */
export async function* pagesOf<Entry>(read: ReadPage<Entry>): AsyncGenerator<Entry> {
  for await (const page of wholePages(read)) yield* page;
}

/** Yields the pages of a list. No connection is held in between. */
export async function* wholePages<Entry>(read: ReadPage<Entry>): AsyncGenerator<readonly Entry[]> {
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    yield page.data;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}

const exportedAtOnce = 2000;

/** Yields all rows of a list for an export, many at once. No connection is held in between. */
export async function* exportedRows<Row extends PageCursor>(
  read: (query: RowsQuery) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  for (let after: PageCursor | undefined; ; ) {
    const rows: readonly Row[] = await read({ after, limit: exportedAtOnce });
    if (rows.length > 0) yield rows;
    after = rows.at(-1);
    if (after === undefined || rows.length < exportedAtOnce) return;
  }
}
