import { beforeAll, describe, expect, it } from 'vitest';
import { answerChat } from '../../kit/provider.ts';
import { errorIn, open, readAnswers, speak } from '../../kit/raw-http.ts';
import * as sse from '../../kit/scenes/events.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { expectAlive, type Origin, originsOf } from './origins.ts';

/** A second request. A server that misreads the framing before it would answer it. */
const smuggled = 'GET /healthz HTTP/1.1\r\nhost: smuggled\r\n\r\n';

/** Bodies whose end depends on the reader: the framing headers and the body, to follow `POST` and the other headers. */
const ambiguous: readonly (readonly [name: string, framing: string])[] = [
  ['a length beside chunks', `content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
  ['chunks beside a length', `transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`],
  ['two lengths that differ', `content-length: 2\r\ncontent-length: 44\r\n\r\n{}${smuggled}`],
  ['two lengths that are the same', `content-length: 2\r\ncontent-length: 2\r\n\r\n{}${smuggled}`],
  ['two lengths in one header', `content-length: 2, 44\r\n\r\n{}${smuggled}`],
  ['a length with a sign', `content-length: +2\r\n\r\n{}${smuggled}`],
  ['a length below zero', `content-length: -1\r\n\r\n{}${smuggled}`],
  ['a length in hex', `content-length: 0x2\r\n\r\n{}${smuggled}`],
  ['a length beyond every number', `content-length: 99999999999999999999\r\n\r\n{}${smuggled}`],
  ['an encoding before the chunks', `transfer-encoding: gzip, chunked\r\ncontent-length: 2\r\n\r\n{}${smuggled}`],
  ['an encoding after the chunks', `transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
  ['an encoding that nobody knows', `transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`],
  [
    'chunks on a folded line beside a length',
    `transfer-encoding:\r\n chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['a blank before the colon', `transfer-encoding : chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`],
  [
    'a control character in the name',
    `transfer-encoding\x0b: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['lines that end in a line feed alone', `content-length: 2\n\n{}${smuggled}`],
  [
    'a bare carriage return in a value',
    `x: a\rtransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n${smuggled}`,
  ],
  ['a NUL in a value', `x: a\0b\r\ncontent-length: 2\r\n\r\n{}${smuggled}`],
  ['a chunk of no size', `transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n${smuggled}`],
  ['a chunk with a size below zero', `transfer-encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n${smuggled}`],
  [
    'a chunk larger than every number',
    `transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n${smuggled}`,
  ],
  ['a chunk longer than it says', `transfer-encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n${smuggled}`],
  ['a chunk that ends in a line feed alone', `transfer-encoding: chunked\r\n\r\n2\n{}\n0\n\n${smuggled}`],
  ['an extension with a line feed', `transfer-encoding: chunked\r\n\r\n2;a\nb\r\n{}\r\n0\r\n\r\n${smuggled}`],
];

/** Bytes that are not a valid request. */
const noRequests: readonly (readonly [name: string, bytes: string])[] = [
  ['noise', '\x00\xff\x13noise\r\n\r\n'],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/0.9', 'GET /healthz\r\n\r\n'],
  ['a version that is none', 'GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n'],
  ['a method that is none', 'BREW /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['a method in lower case', 'get /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['a blank in the target', 'GET /heal thz HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['no target', 'GET HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['a header without a name', 'GET /healthz HTTP/1.1\r\n: x\r\n\r\n'],
  ['a header that is none', 'GET /healthz HTTP/1.1\r\nhost x\r\n\r\n'],
];

/** Tests that each request has one unambiguous end. Otherwise the origin closes the connection. */
export const framingSuite: Suite = {
  name: 'framing',
  spec: { providers: { plain: {} }, models: { plain: { routes: { plain: [1, 2] } } }, copies: 1 },
  tests(stage) {
    let account: TestAccount;
    let model: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
      model = stage.model('plain');
    });
    const start = ({ post }: Origin): string =>
      `POST ${post} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.inferenceKey}\r\ncontent-type: application/json\r\n`;

    describe.each(originsOf(stage))('of the $name origin', (origin) => {
      it.each(ambiguous)(
        '%s is 400 and the end of the connection: nothing after it is answered',
        async (_, framing) => {
          const { answers, closed } = await speak(origin.url, start(origin) + framing);
          expect(closed).toBe(true);
          expect(answers.map(({ status }) => status)).toEqual([400]);
          expect(answers[0]?.headers.connection).toBe('close');
          expect(answers.map(errorIn)).toMatchObject([{ type: 'invalid_request' }]);
        },
      );

      it.each(noRequests)('%s is 400 and the end of the connection', async (_, bytes) => {
        const { answers, closed } = await speak(origin.url, bytes);
        expect(closed).toBe(true);
        expect(answers.map(({ status }) => status)).toEqual([400]);
        expect(answers.map(errorIn)).toMatchObject([{ type: 'invalid_request' }]);
      });

      it('endless chunk extensions are 413 and the end of the connection', async () => {
        const { answers, closed } = await speak(
          origin.url,
          `${start(origin)}transfer-encoding: chunked\r\n\r\n2;${'a=b;'.repeat(10_000)}\r\n{}\r\n0\r\n\r\n${smuggled}`,
        );
        expect(closed).toBe(true);
        expect(answers.map(({ status }) => status)).toEqual([413]);
        expect(answers.map(errorIn)).toMatchObject([{ type: 'payload_too_large' }]);
      });

      it('a second request in the same write is answered after the first, in order', async () => {
        const paths = ['/healthz', '/v1/nothing', '/healthz', '/v1/capabilities?x', '/healthz'];
        const bytes = paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join('');
        const { answers } = await speak(origin.url, bytes, { answers: paths.length });
        expect(answers.map(({ status }) => status)).toEqual(
          origin.name === 'control' ? [200, 404, 200, 200, 200] : [200, 404, 200, 404, 200],
        );
      });

      it('ten thousand requests in one write cost only their answers', async () => {
        const count = 10_000;
        const bytes = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(count);
        const before = origin.rss();
        const { text } = await speak(origin.url, bytes, { answers: count });
        const answered = text.split('HTTP/1.1 200').length - 1;
        expect(answered).toBe(count);
        expect(origin.rss() - before).toBeLessThan(200 * 2 ** 20);
        await expectAlive(stage, account, model);
      });
    });

    it('a request sent during a stream does not end up in the stream', async () => {
      const { promise: held, resolve: finish } = Promise.withResolvers<void>();
      stage.on('plain', async (_request, response) => {
        sse.openStream(response);
        await sse.send(response, sse.text('One. '));
        await held;
        response.end(sse.text('Two.') + sse.ending);
      });
      const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'x' }] });
      const [, broker] = originsOf(stage);
      const socket = await open(broker.url);
      let text = '';
      socket.on('data', (piece: Buffer) => {
        text += piece.toString('utf8');
        if (text.includes('One. ')) socket.write('NOISE\r\n\r\n');
      });
      socket.write(`${start(broker)}content-length: ${body.length}\r\n\r\n${body}`);
      await new Promise<void>((resolve) => socket.once('close', () => resolve()));
      finish();
      expect(text).toContain('One. ');
      expect(text.split('HTTP/1.1 ')).toHaveLength(2);
      expect(text).not.toContain('invalid_request');
      await stage.service.settled(account);
    });

    it('a request sent before an answer is not mistaken for part of it', async () => {
      stage.on('plain', async (request, response) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        return answerChat({ content: 'Late.' })(request, response);
      });
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] });
      const [, broker] = originsOf(stage);
      const { text } = await speak(
        broker.url,
        `${start(broker)}content-length: ${body.length}\r\n\r\n${body}NOISE\r\n\r\n`,
      );
      expect(readAnswers(text).filter(({ status }) => status === 400)).toEqual([]);
      await stage.service.settled(account);
    });
  },
};
