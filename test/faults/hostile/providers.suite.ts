import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import type { ProviderHandler } from '../../kit/provider.ts';
import * as sse from '../../kit/scenes/events.ts';
import { rawText } from '../../kit/scenes/misbehave.ts';
import { bothModes } from '../../kit/scenes/ways.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf } from '../../kit/stage/usual-answer.ts';
import { originsOf } from './origins.ts';

const megabyte = 2 ** 20;
const price = [1, 2] as const;
const dear = [3, 6] as const;

/** Writes until the reader leaves, at most `most` bytes. Resolves to the number of bytes written. */
async function pour(response: Parameters<ProviderHandler>[1], piece: Buffer, most: number): Promise<number> {
  let written = 0;
  const closed = new Promise((resolve) => response.once('close', resolve));
  while (written < most && !response.destroyed) {
    written += piece.length;
    if (!response.write(piece)) await Promise.race([drained(response), closed]);
  }
  return written;
}

const drained = (response: Parameters<ProviderHandler>[1]): Promise<unknown> =>
  new Promise((resolve) => response.once('drain', resolve));

/**
 * Tests hostile providers: the client gets another provider's answer or an error, and the broker's memory stays
 * bounded.
 */
export const providersSuite: Suite = {
  name: 'providers',
  spec: {
    providers: {
      evil: { timeouts: { total_ms: 4_000, first_byte_ms: 3_000 } },
      good: {},
      spoken: { server: 'raw', timeouts: { total_ms: 6_000, first_byte_ms: 2_000 } },
    },
    models: {
      evil: { routes: { evil: price, good: dear } },
      alone: { routes: { evil: price } },
      spoken: { routes: { spoken: price, good: dear } },
    },
    copies: 40,
  },
  tests(stage) {
    let account: TestAccount;
    beforeAll(async () => {
      account = await stage.service.createAccount({ usd: 1000 });
    });
    const rss = (): number => originsOf(stage)[1].rss();

    it.each([
      ['data', 'data: {"choices":[{"index":0,"delta":{"content":"'],
      ['a comment', ': '],
      ['noise', ''],
    ])('a hundred megabytes of %s in one line are cut off, and the next serves', async (_, start) => {
      let written = 0;
      stage.on('evil', async (_request, response) => {
        sse.openStream(response);
        response.write(start);
        written = await pour(response, Buffer.alloc(megabyte, 'x'), 100 * megabyte);
      });
      const before = rss();
      const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('evil'), stream: true });
      expect(answer.content).toBe(textOf('good'));
      expect(written).toBeLessThan(20 * megabyte);
      expect(rss() - before).toBeLessThan(100 * megabyte);
    });

    it('a whole answer of a hundred megabytes is cut off, and the next serves', async () => {
      let written = 0;
      stage.on('evil', async (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write('{"choices":[{"message":{"content":"');
        written = await pour(response, Buffer.alloc(megabyte, 'x'), 100 * megabyte);
      });
      const before = rss();
      const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('evil') });
      expect(answer.content).toBe(textOf('good'));
      expect(written).toBeLessThan(80 * megabyte);
      expect(rss() - before).toBeLessThan(250 * megabyte);
    });

    it.each([
      ['comments', ': ping\n\n'],
      ['empty events', 'data: {"choices":[]}\n\n'],
      ['roles', sse.role],
      ['line feeds', '\n'],
    ])('an endless stream of %s is not an answer: the next serves', async (_, frame) => {
      stage.on('evil', async (_request, response) => {
        sse.openStream(response);
        await pour(response, Buffer.from(frame.repeat(500)), 300 * megabyte);
      });
      const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('evil'), stream: true });
      expect(answer.content).toBe(textOf('good'));
    });

    it('an endless stream of text ends at the time limit, and costs at most its hold', async () => {
      const before = await stage.service.settled(account);
      stage.on('evil', async (_request, response) => {
        sse.openStream(response);
        const piece = sse.text('And so on. ').repeat(20);
        while (await sse.send(response, piece)) await new Promise((resolve) => setTimeout(resolve, 2));
      });
      const memory = rss();
      const answer = await ask(stage.service, account.inferenceKey, {
        model: stage.model('alone'),
        stream: true,
        max_tokens: 100,
      });
      expect(answer).toMatchObject({ status: 200, done: false });
      expect(['provider_timeout', 'provider_error']).toContain(answer.error?.type);
      expect(rss() - memory).toBeLessThan(150 * megabyte);
      const paid = before - (await stage.service.settled(account));
      // The hold covers a hundred output tokens, and less than a hundred of the prompt: its bytes and the allowances.
      expect(paid).toBeLessThan(BigInt((price[0] + price[1]) * 100) * 1000n);
      expect(paid).toBeGreaterThan(0n);
    });

    describe.each(bothModes)('$name', ({ stream }) => {
      const type = stream ? 'text/event-stream' : 'application/json';
      const bomb = gzipSync(Buffer.alloc(200 * megabyte, 'data: '));
      const good = stream
        ? sse.text('Fine.') + sse.ending
        : JSON.stringify({
            choices: [{ index: 0, message: { role: 'assistant', content: 'Fine.' }, finish_reason: 'stop' }],
          });

      it('a compressed bomb is not decompressed, and the next serves', async () => {
        stage.on('evil', (_request, response) => {
          response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(bomb);
        });
        const before = rss();
        const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('evil'), stream });
        expect(answer.content).toBe(textOf('good'));
        expect(rss() - before).toBeLessThan(60 * megabyte);
      });

      it.each<[string, string[], boolean]>([
        ['HTTP/0.9', [`${rawText}\n`], true],
        [
          'a switch of protocols that nobody asked for',
          ['HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n'],
          false,
        ],
        [
          'more than its length',
          [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 3\r\n\r\n${good}`],
          false,
        ],
        [
          'two lengths',
          [
            `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 3\r\ncontent-length: ${good.length}\r\n\r\n${good}`,
          ],
          false,
        ],
        [
          'a length that is none',
          [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: many\r\n\r\n${good}`],
          false,
        ],
        ['a header of a megabyte', [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(megabyte)}\r\n\r\n${good}`], false],
        ['twenty thousand headers', [`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}\r\n${good}`], false],
        ['an answer to a tunnel', ['HTTP/1.1 200 Connection established\r\n\r\n'], true],
        [
          'a NUL in its headers',
          [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nx: a\0b\r\ncontent-length: ${good.length}\r\n\r\n${good}`],
          false,
        ],
        [
          'answers before the answer without end',
          Array<string>(3000).fill('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
          true,
        ],
      ])('%s: the next serves', async (_, says, end) => {
        stage.raw.says(says, end);
        const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('spoken'), stream });
        expect(answer).toMatchObject({ status: 200, content: textOf('good') });
      });

      it('addresses in the answer of a provider have no effect', async () => {
        const headers = {
          'content-type': type,
          'alt-svc': 'h3="evil.example:443"; ma=86400',
          refresh: '0; url=http://evil.example/',
          location: 'http://127.0.0.1:1/elsewhere',
          'content-location': 'http://evil.example/',
          link: '<http://evil.example/>; rel=preconnect',
          'strict-transport-security': 'max-age=1',
        };
        stage.on('evil', (_request, response) => {
          response.writeHead(200, headers).end(good);
        });
        for (let round = 0; round < 2; round += 1) {
          const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('alone'), stream });
          expect(answer.content).toBe('Fine.');
          expect(JSON.stringify([...answer.headers])).not.toMatch(/evil\.example|alt-svc|elsewhere/);
        }
      });

      it('prototype names in an answer do not pollute prototypes and are not forwarded', async () => {
        const polluted = '"__proto__":{"polluted":"EVIL"},"constructor":{"prototype":{"polluted":"EVIL"}}';
        const body = stream
          ? `data: {${polluted},"choices":[{${polluted},"index":0,"delta":{${polluted},"content":"Fine."}}]}\n\n${sse.ending}`
          : `{${polluted},"choices":[{${polluted},"index":0,"message":{${polluted},"role":"assistant","content":"Fine."},"finish_reason":"stop"}],"usage":{${polluted},"prompt_tokens":1,"completion_tokens":1}}`;
        stage.on('evil', (_request, response) => {
          response.writeHead(200, { 'content-type': type }).end(body);
        });
        for (let round = 0; round < 2; round += 1) {
          const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('alone'), stream });
          expect(answer.content).toBe('Fine.');
          expect(answer.text).not.toMatch(/EVIL|polluted|__proto__/);
        }
      });

      it.each([
        ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0xc3, 0x28])],
        ['half a pair', Buffer.from('\\ud800')],
        ['a NUL', Buffer.from('\\u0000')],
      ])('%s in its text do not break the service', async (_, odd) => {
        const [head = '', tail = ''] = good.split('Fine.');
        stage.on('evil', (_request, response) => {
          response
            .writeHead(200, { 'content-type': type })
            .end(Buffer.concat([Buffer.from(`${head}Fine.`), odd, Buffer.from(tail)]));
        });
        const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('evil'), stream });
        expect(answer.status).toBe(200);
        expect(answer.content.startsWith('Fine.') || answer.content === textOf('good')).toBe(true);
      });
    });

    it('after all this everything is settled, and no unexpected error was logged', async () => {
      await stage.service.settled(account);
      expect(stage.service.logs()).not.toMatch(/"status":500|unexpected/);
      expect(stage.service.logs()).not.toContain(rawText);
    });
  },
};
