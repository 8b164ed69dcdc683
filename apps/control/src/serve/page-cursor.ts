import { ServiceError } from '@sotto/wire';

/** The end of a page: time and id of its last row. */
export interface PageCursor {
  readonly at: Date;
  readonly id: string;
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

const writeCursor = ({ at, id }: PageCursor): string => Buffer.from(`${at.toISOString()} ${id}`).toString('base64url');

/** Reads a cursor of `pageOf`. Throws `invalid_request` for any other text. */
export function readCursor(text: string, idPattern: RegExp): PageCursor {
  const [at = '', id = ''] = Buffer.from(text, 'base64url').toString('utf8').split(' ');
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime()) || instant.toISOString() !== at || !idPattern.test(id)) {
    throw new ServiceError('invalid_request', {
      message: '`cursor` must be the `next_cursor` of an earlier page.',
      param: 'cursor',
    });
  }
  return { at: instant, id };
}

/** Yields every entry of a list that is read page by page. */
export async function* pagesOf<Entry>(
  read: (
    cursor: string | undefined,
  ) => Promise<{ readonly data: readonly Entry[]; readonly next_cursor: string | null }>,
): AsyncGenerator<Entry> {
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor);
    yield* page.data;
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
