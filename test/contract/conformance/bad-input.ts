import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, readAnswer } from '../../kit/answer.ts';
import { ask, bearer, hello, redeem } from '../../kit/client.ts';
import { acmeApiKey, type Concept } from '../../kit/conformance.ts';
import { expectCallersFault, expectError } from '../../kit/expect-error.ts';
import { answerError } from '../../kit/provider.ts';
import { answerTo, errorIn, open, speak } from '../../kit/raw-http.ts';
import { post, send } from '../../kit/send.ts';

const model = 'acme/small';

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

/** Tests that every malformed request gets a clear error soon, on both origins. */
export const badInput: Concept = (suite) => {
  const bearerLine = (): string => `authorization: Bearer ${suite.account.inferenceKey}\r\n`;
  const targets = [
    ['chat', () => `${suite.service.baseUrl}/chat/completions`],
    ['embeddings', () => `${suite.service.baseUrl}/embeddings`],
    ['tickets', () => `${suite.service.controlUrl}/inference/tickets`],
  ] as const;
  const key = () => bearer(suite.account.inferenceKey);

  /** Asserts that the service still serves requests. */
  const expectAlive = async (): Promise<void> => {
    const answer = await ask(suite.service, suite.account.inferenceKey, { model });
    expect(answer.status, answer.text).toBe(200);
    expect(suite.lastSeen().body).toMatchObject({ model: 'small-v1', messages: hello });
  };

  describe.each(targets)('bad input to %s', (_, url) => {
    it.each<[string, string]>([
      ['malformed JSON', '{"model": "acme/small", '],
      ['a trailing comma', '{"model": "acme/small",}'],
      ['two documents', '{"model":"acme/small"}{"model":"acme/small"}'],
      ['a raw NUL', '{"model":"acme/sm\0all"}'],
      ['a raw newline in a string', '{"model":"acme/\nsmall"}'],
      ['JavaScript', '{model: "acme/small"}'],
      ['NaN', '{"model": NaN}'],
      ['no body', ''],
      ['blanks', '   '],
      ['a list', '[]'],
      ['null', 'null'],
      ['a number', '5'],
      ['a string', '"acme/small"'],
    ])('%s is 400 invalid_request', async (_name, body) => {
      const answer = await send('POST', url(), { headers: key(), body });
      expectError(answer, 400, 'invalid_request');
      // Parsers quote the body in their messages, and request content must never appear in an error.
      expect(answer.text).not.toMatch(/Unexpected|position|JSON at|acme\/sm/);
    });

    it('a request without a body is 400', async () => {
      const answer = await send('POST', url(), { headers: { ...key(), 'content-type': 'application/json' } });
      expectError(answer, 400, 'invalid_request');
    });

    it('invalid UTF-8 is 400', async () => {
      for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f]]) {
        const body = Buffer.concat([
          Buffer.from('{"model":"acme/small","messages":[{"role":"user","content":"'),
          Buffer.from(bytes),
          Buffer.from('"}]}'),
        ]);
        const headers = { ...key(), 'content-type': 'application/json' };
        const answer = await readAnswer(await fetch(url(), { method: 'POST', headers, body }));
        expectError(answer, 400, 'invalid_request');
      }
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'nonsense',
      'application/json-seq',
      'application/merge-patch+json',
      `text/${'x'.repeat(1000)}`,
    ])('a body of type %s is 415, which names the type and the one to send', async (type) => {
      const body = JSON.stringify({ model, messages: hello });
      const answer = await send('POST', url(), { headers: { ...key(), 'content-type': type }, body });
      expectError(answer, 415, 'unsupported_media_type');
      expect(answer.error?.message).toBe(
        `\`content-type: ${type.slice(0, 100)}\` is not accepted: send JSON with \`content-type: application/json\`.`,
      );
    });

    it('a body without a content type is 415', async () => {
      const body = Buffer.from(JSON.stringify({ model, messages: hello }));
      const answer = await readAnswer(await fetch(url(), { method: 'POST', headers: key(), body }));
      expectError(answer, 415, 'unsupported_media_type');
      expect(answer.error?.message).toContain('`content-type` is missing');
    });

    it('an expectation that no server here meets is 417', async () => {
      const { host, pathname } = new URL(url());
      const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\n`;
      const answer = await answerTo(url(), `${head}expect: 200-maybe\r\ncontent-length: 2\r\n\r\n{}`);
      expect(answer.status).toBe(417);
      expect(errorIn(answer).type).toBe('expectation_failed');
    });

    it('a compressed body is a clear 4xx', async () => {
      const headers = { ...key(), 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const body = gzipSync(JSON.stringify({ model, messages: hello }));
      expectCallersFault(await readAnswer(await fetch(url(), { method: 'POST', headers, body })));
    });

    it('JSON with a charset is accepted as JSON', async () => {
      const headers = { ...key(), 'content-type': 'application/json; charset=utf-8' };
      const answer = await send('POST', url(), { headers, body: '{"model":' });
      expectError(answer, 400, 'invalid_request');
    });

    it('a body whose content-length is enormous is 413 at once', async () => {
      const { pathname, host } = new URL(url());
      const answer = await answerTo(
        url(),
        `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\ncontent-length: 10737418240\r\n\r\n{"model":`,
      );
      expect(answer.status).toBe(413);
      expect(errorIn(answer).type).toBe('payload_too_large');
    });

    it('a body without a content-length is 413 once it exceeds the limit', async () => {
      const { pathname, host } = new URL(url());
      const piece = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000, 0x20), Buffer.from('\r\n')]);
      const answer = await answerTo(
        url(),
        `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
        { pieces: Array<Buffer>(40).fill(piece), pauseMs: 5 },
      );
      expect(answer.status).toBe(413);
      expect(errorIn(answer).type).toBe('payload_too_large');
    });

    it('keys such as __proto__ do not pollute prototypes', async () => {
      for (const body of [
        '{"model":"acme/small","messages":[{"role":"user","content":"x"}],"__proto__":{"n":2,"temperature":1.5}}',
        '{"model":"acme/small","messages":[{"role":"user","content":"x"}],"constructor":{"prototype":{"seed":7}}}',
        '{"model":"acme/small","messages":[{"role":"user","content":"x","__proto__":{"name":"evil"}}]}',
        '{"__proto__":{"model":"acme/small","messages":[]}}',
      ]) {
        const answer = await send('POST', url(), { headers: key(), body });
        expect(answer.status, answer.text).toBeLessThan(500);
        if (answer.status !== 200) expectCallersFault(answer);
      }
      for (const { body } of suite.provider('acme').seen) {
        expect(body.n ?? 1).toBe(1);
        expect(body).not.toHaveProperty('seed');
        expect(body).not.toHaveProperty('temperature');
        expect(JSON.stringify(body)).not.toContain('evil');
      }
      suite.reset();
      await expectAlive();
      expect(suite.lastSeen().body).not.toHaveProperty('seed');
    });

    it('endless nesting is a clear 4xx', async () => {
      const bodies = [
        nested(200_000),
        '['.repeat(500_000),
        `{"model":"acme/small","messages":[{"role":"user","content":"x"}],"provider":${nested(50_000)}}`,
      ];
      for (const body of bodies) expectCallersFault(await send('POST', url(), { headers: key(), body }));
    });

    it('too many headers are 431', async () => {
      const { pathname, host } = new URL(url());
      const flood = `x-flood: ${'x'.repeat(200)}\r\n`.repeat(1000);
      const answer = await answerTo(
        url(),
        `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}${flood}content-length: 0\r\n\r\n`,
      );
      expect(answer.status).toBe(431);
      expect(errorIn(answer).request_id).toMatch(/\S/);
    });

    it('bytes that are not HTTP are 400 and end the connection', async () => {
      for (const bytes of [
        'GARBAGE\r\n\r\n',
        '\x16\x03\x01\x02\x00\x01\x00',
        'GET / HTTP/9.9\r\n\r\n',
        'POST\r\n\r\n',
      ]) {
        const { answers, closed } = await speak(url(), bytes);
        expect(closed).toBe(true);
        expect(answers.map(({ status }) => status)).toEqual([400]);
        expect(answers.map(errorIn)).toMatchObject([{ type: 'invalid_request' }]);
      }
    });

    it('two lengths, or a length beside chunked encoding, are rejected', async () => {
      const { pathname, host } = new URL(url());
      const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\n`;
      for (const framing of [
        'content-length: 5\r\ncontent-length: 6\r\n\r\nhello!',
        'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
        'content-length: -1\r\n\r\n',
        'transfer-encoding: chunked\r\n\r\nzz\r\n',
      ]) {
        const { status } = await answerTo(url(), head + framing);
        expect(status, framing).toBe(400);
      }
    });
  });

  describe('bad chat requests', () => {
    const url = () => `${suite.service.baseUrl}/chat/completions`;
    const chat = (body: string): Promise<Answer> => send('POST', url(), { headers: key(), body });

    it('10,000 messages are a clear 4xx if no route has room for them', async () => {
      const messages = Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'hello there' }));
      const answer = await post(url(), { model, messages }, key());
      expectCallersFault(answer);
      expect(suite.asked).toBe(0);
    });

    it('deep nesting in a tool schema is 400', async () => {
      for (const depth of [1000, 100_000]) {
        const tools = `[{"type":"function","function":{"name":"f","parameters":${nested(depth)}}}]`;
        const answer = await chat(`{"model":"acme/small","messages":[{"role":"user","content":"x"}],"tools":${tools}}`);
        expectError(answer, 400, 'invalid_request');
      }
      expect(suite.asked).toBe(0);
    });

    it('deep nesting elsewhere is 400, or is dropped with the unknown field', async () => {
      for (const field of ['response_format', 'acme_parameters', 'tool_choice', 'stop', 'logit_bias', 'unknown']) {
        const answer = await chat(
          `{"model":"acme/small","messages":[{"role":"user","content":"x"}],"${field}":${nested(20_000)}}`,
        );
        expect(answer.status, `${field}: ${answer.text.slice(0, 200)}`).toBeLessThan(500);
        if (answer.status !== 200) expectCallersFault(answer);
      }
    });

    it('numbers that overflow are 400', async () => {
      for (const field of ['"temperature":1e999', '"max_tokens":1e999', '"seed":-1e999', '"top_p":1e400']) {
        expectError(
          await chat(`{"model":"acme/small","messages":[{"role":"user","content":"x"}],${field}}`),
          400,
          'invalid_request',
        );
      }
    });

    it('a NUL in a model id is 404 or 400; a NUL in content is forwarded', async () => {
      const odd = await post(url(), { model: 'acme/small\0', messages: hello }, key());
      expect([400, 404]).toContain(odd.status);
      expectCallersFault(odd);
      const fine = await post(url(), { model, messages: [{ role: 'user', content: 'a\0b' }] }, key());
      expect(fine.status, fine.text).toBe(200);
      expect(suite.lastSeen().body.messages).toEqual([{ role: 'user', content: 'a\0b' }]);
    });

    it('a chunked body is accepted', async () => {
      const { pathname, host } = new URL(url());
      const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'zażółć' }] });
      const chunks = Array.from(Buffer.from(body), (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('');
      const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\n`;
      const answer = await answerTo(url(), `${head}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toMatchObject({ model });
      expect(suite.lastSeen().body.messages).toEqual([{ role: 'user', content: 'zażółć' }]);
    });

    it('a lone surrogate breaks nothing', async () => {
      const answer = await chat('{"model":"acme/small","messages":[{"role":"user","content":"\\ud800 x"}]}');
      expect([200, 400]).toContain(answer.status);
      await expectAlive();
    });

    it('a body that never arrives in full does not delay other requests', async () => {
      const { pathname, host } = new URL(url());
      const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${bearerLine()}content-type: application/json\r\ncontent-length: 500\r\n\r\n{"model":`;
      const sockets = await Promise.all(Array.from({ length: 20 }, () => open(url())));
      for (const socket of sockets) socket.write(head);
      await expectAlive();
      for (const socket of sockets) socket.destroy();
      await expectAlive();
    });

    it('an odd ticket header is a clear 4xx', async () => {
      const { pathname, host } = new URL(url());
      const body = JSON.stringify({ model, messages: hello });
      for (const header of [
        'x-router-ticket: \r\n',
        'x-router-ticket: a\r\nx-router-ticket: b\r\n',
        'x-router-ticket: \xff\xfe\r\n',
        'authorization: \r\n',
        'authorization: Bearer\r\n',
        'authorization: Bearer a b c\r\n',
        'authorization: Bearer \xff\r\n',
      ]) {
        const answer = await answerTo(
          url(),
          `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n${header}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        expect(answer.status, `${header} ${answer.body}`).toBe(401);
        errorIn(answer);
      }
    });
  });

  describe('the log of all these requests', () => {
    it('contains no content, no credentials and no text of providers', async () => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model });
      await redeem(service, ticket, { model });
      suite.provider('flaky').answer(answerError(500));
      await ask(service, account.inferenceKey, { model: 'flaky/chat' });
      const log = service.logs();
      // The log is not empty: it has one line for each request, with its status.
      expect(log).toContain('"status":200');
      expect(log).toContain('"status":502');
      const secrets = [account.inferenceKey, account.managementKey, ticket, acmeApiKey];
      const said = ['Say hello.', 'Hello there, this is a provider.', 'RAW-PROVIDER-ERROR', 'acme/sm\\u0000all'];
      for (const mark of [...secrets, ...said]) expect(log).not.toContain(mark);
    });
  });
};
