import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { answerTo, errorIn, type RawAnswer, speak } from '../../kit/raw-http.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { expectAlive, type Origin, originsOf } from './origins.ts';

const megabyte = 2 ** 20;
/** Each decompresses to 64 MB. */
const bombs: readonly (readonly [encoding: string, bytes: Buffer])[] = [
  ['gzip', gzipSync(Buffer.alloc(64 * megabyte, 0x20))],
  ['br', brotliCompressSync(Buffer.alloc(64 * megabyte, 0x20))],
  ['deflate', deflateSync(Buffer.alloc(64 * megabyte, 0x20))],
  ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(64 * megabyte, 0x20)))],
  ['x-nothing', Buffer.from('{}')],
];

/** First lines of requests, with the expected status. */
const lines: readonly (readonly [line: string, status: number])[] = [
  ['GET //healthz HTTP/1.1', 404],
  ['GET /healthz/ HTTP/1.1', 404],
  ['GET /./healthz HTTP/1.1', 404],
  ['GET /v1/../healthz HTTP/1.1', 404],
  ['GET /v1/%2e%2e/healthz HTTP/1.1', 404],
  ['GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1', 404],
  ['GET /..\\..\\etc\\passwd HTTP/1.1', 404],
  ['GET /healthz%00 HTTP/1.1', 404],
  ['GET /healthz%2f HTTP/1.1', 404],
  ['GET /healthz;x=1 HTTP/1.1', 404],
  ['GET /HEALTHZ HTTP/1.1', 404],
  ['GET /%zz HTTP/1.1', 400],
  ['GET /%c3%28 HTTP/1.1', 400],
  ['GET /v1/%F0%9D%94%AA%F0%9D%94%AC HTTP/1.1', 404],
  ['GET http://evil.example/v1/nothing HTTP/1.1', 404],
  ['TRACE /healthz HTTP/1.1', 405],
  ['PROPFIND /healthz HTTP/1.1', 405],
  ['DELETE /healthz HTTP/1.1', 405],
  ['CONNECT evil.example:443 HTTP/1.1', 405],
  [`GET /${'a/'.repeat(4000)} HTTP/1.1`, 404],
  [`GET /v1/nothing?${'a=b&'.repeat(2000)} HTTP/1.1`, 404],
  [`GET /v1/nothing?${'a[b]'.repeat(500)}=1&__proto__[x]=1&constructor.prototype.x=1 HTTP/1.1`, 404],
];

/** The error of a request without a valid credential, at either origin. */
const unauthorized = /^(?:unauthenticated|ticket_required|invalid_ticket)$/;

/** Contradictory or invalid headers, with the expected answer to a POST. */
const headers: readonly (readonly [name: string, header: string, status: number, type: string | RegExp])[] = [
  ['no host', '', 400, 'invalid_request'],
  ['two hosts', 'host: a\r\nhost: b\r\n', 400, 'invalid_request'],
  ['two keys', 'host: x\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\n', 400, 'invalid_request'],
  ['two types', 'host: x\r\ncontent-type: application/json\r\ncontent-type: text/plain\r\n', 400, 'invalid_request'],
  ['two tickets', 'host: x\r\nx-router-ticket: a\r\nx-router-ticket: b\r\n', 401, unauthorized],
  ['a host that is none', 'host: ]]]:abc\r\n', 401, unauthorized],
  [
    'a host of another',
    'host: evil.example\r\nx-forwarded-host: evil.example\r\nforwarded: for=1;host=evil.example\r\n',
    401,
    unauthorized,
  ],
  ['a method to be used instead', 'host: x\r\nx-http-method-override: DELETE\r\n', 401, unauthorized],
  [
    'an upgrade',
    'host: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: eA==\r\n',
    401,
    unauthorized,
  ],
  [
    'an upgrade to HTTP/2',
    'host: x\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n',
    401,
    unauthorized,
  ],
  ['an expectation that nobody knows', 'host: x\r\nexpect: miracles\r\n', 417, 'expectation_failed'],
  ['names of prototypes', 'host: x\r\n__proto__: 1\r\nconstructor: 2\r\nhasownproperty: 3\r\n', 401, unauthorized],
];

/** Tests that every request gets a clear error, or is served. */
export const requestsSuite: Suite = {
  name: 'requests',
  spec: { providers: { plain: {} }, models: { asked: { routes: { plain: [1, 2] } } }, copies: 1 },
  tests(stage) {
    let account: TestAccount;
    let model: string;
    beforeAll(async () => {
      account = await stage.service.createAccount();
      model = stage.model('asked');
    });
    const key = (): string => `authorization: Bearer ${account.inferenceKey}\r\n`;
    const post = (origin: Origin, more: string, body: string | Buffer): Promise<RawAnswer> => {
      const bytes = Buffer.from(body as string);
      const head = `POST ${origin.post} HTTP/1.1\r\n${more}content-length: ${bytes.length}\r\n\r\n`;
      return answerTo(origin.url, Buffer.concat([Buffer.from(head, 'latin1'), bytes]));
    };
    /** Posts JSON with a valid key. */
    const postJson = (origin: Origin, body: string | Buffer, more = ''): Promise<RawAnswer> =>
      post(origin, `host: x\r\n${key()}content-type: application/json\r\n${more}`, body);

    describe.each(originsOf(stage))('to the $name origin', (origin) => {
      /** What a valid request to this origin has beside the model. */
      const rest = origin.name === 'control' ? {} : { messages: [{ role: 'user', content: 'x' }] };

      it.each(lines)('%s is %i', async (line, status) => {
        // The dashboard serves pages on the same origin. This header asks for JSON, so the request is not for a page.
        const answer = await answerTo(origin.url, `${line}\r\nhost: x\r\naccept: application/json\r\n\r\n`);
        expect(answer.status).toBe(status);
        errorIn(answer);
        expect(answer.body).not.toContain('passwd');
      });

      it('`OPTIONS *` is a clear error, and HEAD has no body', async () => {
        const options = await answerTo(origin.url, 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n');
        expect([404, 405]).toContain(options.status);
        errorIn(options);
        const { text } = await speak(origin.url, 'HEAD /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
        expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
      });

      it.each(headers)('%s', async (_, given, status, type) => {
        const typed = given.includes('content-type') ? given : `${given}content-type: application/json\r\n`;
        const answer = await post(origin, typed, '{"model":"x/y","messages":[]}');
        expect(answer.status).toBe(status);
        expect(errorIn(answer).type).toMatch(type);
      });

      it('oversized headers are 431 and the end of the connection', async () => {
        for (const flood of [
          `x: ${'y'.repeat(60_000)}\r\n`,
          'x: y\r\n'.repeat(12_000),
          `${'z'.repeat(60_000)}: y\r\n`,
        ]) {
          const { answers, closed } = await speak(origin.url, `GET /healthz HTTP/1.1\r\nhost: x\r\n${flood}\r\n`);
          expect(closed).toBe(true);
          expect(answers.map(({ status }) => status)).toEqual([431]);
          expect(answers.map(errorIn)).toMatchObject([{ type: 'header_fields_too_large' }]);
        }
      });

      it.each(bombs)('a body compressed by %s is 415, and is not decompressed', async (encoding, bytes) => {
        const before = origin.rss();
        const answer = await postJson(origin, bytes, `content-encoding: ${encoding}\r\n`);
        expect(answer.status).toBe(415);
        expect(errorIn(answer)).toMatchObject({
          type: 'unsupported_media_type',
          message: expect.stringContaining(`\`content-encoding: ${encoding}\``),
        });
        expect(origin.rss() - before).toBeLessThan(40 * megabyte);
      });

      it('a body with the encoding identity is accepted', async () => {
        const answer = await postJson(origin, JSON.stringify({ model, ...rest }), 'content-encoding: identity\r\n');
        expect(answer.status).toBe(200);
      });

      it('an endless body is 413 before it is complete, and memory does not grow with it', async () => {
        const before = origin.rss();
        const head = `POST ${origin.post} HTTP/1.1\r\nhost: x\r\n${key()}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;
        const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(megabyte, 0x20), Buffer.from('\r\n')]);
        const asked = Array.from({ length: 4 }, () =>
          speak(origin.url, head, { pieces: Array<Buffer>(40).fill(piece), pauseMs: 5 }),
        );
        for (const { answers } of await Promise.all(asked)) {
          expect(answers.map(({ status }) => status)).toEqual([413]);
          expect(answers.map(errorIn)).toMatchObject([{ type: 'payload_too_large' }]);
        }
        expect(origin.rss() - before).toBeLessThan(4 * origin.bodyLimit + 120 * megabyte);
      });

      it('brackets by the hundred thousand are 400', async () => {
        for (const body of [
          '['.repeat(100_000),
          '{"a":'.repeat(40_000),
          `{"model":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
        ]) {
          const answer = await postJson(origin, body);
          expect(answer.status).toBe(400);
          expect(errorIn(answer).type).toBe('invalid_request');
        }
      });

      it.each([
        ['a confusable letter', 'аcme/small'],
        ['letters from right to left', '\u202eacme/small'],
        ['a blank of no width', 'acme\u200b/small'],
        ['a letter and its accent apart', 'acme/sma\u0301ll'],
        ['full-width letters', 'ａｃｍｅ/ｓｍａｌｌ'],
        ['a NUL', 'acme/small\0'],
        ['half a pair', 'acme/small\ud800'],
        ['a path', '../../acme/small'],
        ['a name of prototypes', '__proto__'],
        ['a name of constructors', 'constructor/prototype'],
      ])('a model id with %s is unknown', async (_, named) => {
        const answer = await postJson(origin, JSON.stringify({ model: named, ...rest }));
        expect([400, 404]).toContain(answer.status);
        expect(['model_not_found', 'invalid_request']).toContain(errorIn(answer).type);
      });

      it.each([
        ['a key of prototypes', '{"__proto__":{"sort":"price"}}'],
        ['a constructor', '{"constructor":{"prototype":{"sort":"price"}}}'],
        ['a name of prototypes as its provider', '"__proto__"'],
        ['names of prototypes as providers', '{"only":["__proto__","constructor"]}'],
        ['a confusable provider', '"plаin"'],
      ])('a policy with %s is a clear 400', async (_, provider) => {
        // Written as text, because an object with `__proto__` would lose it.
        const body = `${JSON.stringify({ model, ...rest }).slice(0, -1)},"provider":${provider}}`;
        const answer = await postJson(origin, body);
        expect(answer.status).toBe(400);
        expect(errorIn(answer).type).toMatch(/^(?:invalid_request|invalid_provider_policy|no_provider_route)$/);
      });

      it('after all this a normal request is served, and no unexpected error was logged', async () => {
        await expectAlive(stage, account, model);
        expect(stage.service.logs()).not.toMatch(/"status":500|unexpected/);
      });
    });
  },
};
