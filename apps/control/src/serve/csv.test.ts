import { get, type IncomingMessage } from 'node:http';
import fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { csvText, sendCsv, wantsCsv } from './csv.ts';

async function* pagesOf<Row>(...pages: Row[][]): AsyncGenerator<Row[]> {
  yield* pages;
}

async function textOf<Row extends object>(columns: readonly (keyof Row & string)[], ...pages: Row[][]) {
  const pieces: string[] = [];
  for await (const piece of csvText({ columns, pages: pagesOf(...pages) })) pieces.push(piece);
  return pieces.join('');
}

describe('CSV', () => {
  it('has one header row, then the rows of every page, each ended by CRLF', async () => {
    expect(await textOf(['a', 'b'], [{ a: 1, b: 'x' }], [{ a: 2, b: 'y' }])).toBe('a,b\r\n1,x\r\n2,y\r\n');
  });

  it('is only its header row without data', async () => {
    expect(await textOf(['a', 'b'])).toBe('a,b\r\n');
  });

  it('quotes values as RFC 4180 says', async () => {
    const rows = [{ a: 'x,y' }, { a: 'say "hi"' }, { a: 'two\nlines' }, { a: 'two\r\nlines' }, { a: ' kept ' }];
    expect(await textOf(['a'], rows)).toBe(
      'a\r\n"x,y"\r\n"say ""hi"""\r\n"two\nlines"\r\n"two\r\nlines"\r\n kept \r\n',
    );
  });

  it('writes null as an empty field, and booleans as words', async () => {
    const rows = [{ a: null, b: true, c: false }];
    expect(await textOf(['a', 'b', 'c'], rows)).toBe('a,b,c\r\n,true,false\r\n');
  });

  it.each(['=1+1', '+1', '-1', '@sum(a1)', '\tx', '\rx', '=a,"b"'])(
    'does not let %j be run as a formula',
    async (cell) => {
      const text = await textOf(['a'], [{ a: cell }]);
      expect(text.slice('a\r\n'.length).replace(/^"/, '')).toMatch(/^'/);
    },
  );

  it('does not change numbers, including negative ones', async () => {
    expect(await textOf(['a', 'b'], [{ a: -1, b: 0.5 }])).toBe('a,b\r\n-1,0.5\r\n');
  });
});

describe('the choice between CSV and JSON', () => {
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    ['*/*', false],
    ['text/*', false],
    ['application/json', false],
    ['text/csv', true],
    ['Text/CSV; charset=utf-8', true],
    ['text/html, text/csv;q=0.5, */*;q=0.1', true],
    ['text/csv;q=0.5, application/json', false],
    ['text/csv, application/json;q=0.9', true],
    ['text/csv, application/json', false],
    ['text/csv;q=0', false],
    ['text/csv;q=x', false],
  ])('accept: %s', (accept, wanted) => {
    expect(wantsCsv(undefined, accept)).toBe(wanted);
  });

  it('prefers `format` to `accept`', () => {
    expect(wantsCsv('csv', 'application/json')).toBe(true);
    expect(wantsCsv('json', 'text/csv')).toBe(false);
  });
});

describe('a CSV answer', () => {
  /** A server with an endless export. `ended` resolves to the number of pages that were read until the client left. */
  async function serveEndless() {
    let read = 0;
    const { promise: ended, resolve: end } = Promise.withResolvers<number>();
    const row = { a: 'x'.repeat(64 * 1024) };
    async function* endless() {
      try {
        for (; read < 100_000; read += 1) yield [row];
      } finally {
        end(read);
      }
    }
    const app = fastify();
    app.get('/', (_request, reply) => sendCsv(reply, { filename: 'x.csv', columns: ['a'], pages: endless() }));
    return { app, ended, url: await app.listen({ port: 0, host: '127.0.0.1' }) };
  }

  it('reads only as many pages as the client takes, and stops when it leaves', async () => {
    const { app, ended, url } = await serveEndless();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => get(url, resolve).on('error', reject));
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="x.csv"',
    });
    await new Promise((resolve) => answer.once('data', resolve));
    answer.on('error', () => {});
    answer.destroy();
    // The whole export would be six gigabytes.
    expect(await ended).toBeLessThan(10_000);
    await app.close();
  });

  it('is an ordinary error if its first page cannot be read', async () => {
    const app = fastify();
    app.get('/', (_request, reply) =>
      sendCsv<{ a: string }>(reply, { filename: 'x.csv', columns: ['a'], pages: failing(0) }),
    );
    const answer = await app.inject('/');
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([500, 'application/json; charset=utf-8']);
    await app.close();
  });

  it('breaks off if a later page cannot be read, so that it does not look complete', async () => {
    const app = fastify();
    app.get('/', (_request, reply) => sendCsv(reply, { filename: 'x.csv', columns: ['a'], pages: failing(3) }));
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow();
    await app.close();
  });

  async function* failing(after: number): AsyncGenerator<{ a: string }[]> {
    for (let page = 0; page < after; page += 1) yield [{ a: 'x' }];
    throw new Error('the database is away');
  }
});
