import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';

export interface CsvExport<Row extends object> {
  readonly filename: string;
  readonly columns: readonly (keyof Row & string)[];
  /** Pages are read as fast as the client reads them, one page ahead. Reading ends when the client leaves. */
  readonly pages: AsyncIterable<readonly Row[]>;
}

/**
 * Answers with CSV (RFC 4180, UTF-8, with a header row), streamed page by page. The first page is read before anything
 * is sent, so that an unavailable database still gives an error response. A later failure breaks the connection.
 */
export async function sendCsv<Row extends object>(reply: FastifyReply, answer: CsvExport<Row>): Promise<FastifyReply> {
  const text = csvText(answer);
  const first = await text.next();
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${answer.filename}"`)
    .send(Readable.from(startingWith(first, text), { highWaterMark: 1 }));
}

/** Yields the header row and each page as text. */
export async function* csvText<Row extends object>({
  columns,
  pages,
}: Omit<CsvExport<Row>, 'filename'>): AsyncGenerator<string, void> {
  let head = `${columns.join(',')}\r\n`;
  for await (const page of pages) {
    yield head + toCsv(page, columns);
    head = '';
  }
  if (head !== '') yield head;
}

/** Spreadsheets run cells that begin like a formula. Such cells get a leading quote, unless they are numbers. */
const toCsv = (rows: readonly object[], columns: readonly string[]): string =>
  stringify([...rows], {
    columns: [...columns],
    record_delimiter: 'windows',
    escape_formulas: true,
    // A lone CR or LF does not end a record here, but does for many readers (RFC 4180, 2.6).
    quoted_match: /[\r\n]/,
    cast: { boolean: String },
  });

async function* startingWith(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string> {
  try {
    if (!first.done) yield first.value;
    yield* rest;
  } finally {
    // If the client leaves before the first page was sent, `rest` would not notice.
    await rest.return();
  }
}

/** Whether to answer with CSV: `format` decides, or else `accept` prefers CSV to JSON (RFC 9110, 12.5.1). */
export function wantsCsv(format: 'json' | 'csv' | undefined, accept: string | undefined): boolean {
  if (format !== undefined) return format === 'csv';
  return qualityOf('text/csv', accept) > qualityOf('application/json', accept);
}

/** How much an `accept` header wants a media type that it names: from 0, for one that it does not name, to 1. */
export function qualityOf(type: string, accept = ''): number {
  for (const range of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim());
    if (name !== type) continue;
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    return Number.isNaN(quality) ? 0 : quality;
  }
  return 0;
}
