import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { Answer } from '../../kit/answer.ts';
import { ask, credentialFor, flows } from '../../kit/client.ts';
import { answerError, type ProviderHandler } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import { rawText } from '../../kit/scenes/misbehave.ts';
import { bothModes, everyWay } from '../../kit/scenes/ways.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';
import { textOf } from '../../kit/stage/usual-answer.ts';

const price = [1, 2] as const;
const providerKey = 'the-services-own-key-at-the-provider';
const whole = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'A whole answer.' }, finish_reason: 'stop' }],
});

export const transportSuite: Suite = {
  name: 'between the broker and its providers',
  spec: {
    copies: 80,
    providers: {
      alpha: {},
      beta: {},
      keyed: { api_key_env: 'KEYED_API_KEY' },
      elsewhere: {},
      raw: { server: 'raw' },
    },
    models: {
      single: { routes: { alpha: price } },
      keyed: { routes: { keyed: price } },
      pair: { routes: { alpha: price, beta: [3, 6] } },
      raw: { routes: { raw: price, beta: [3, 6] } },
    },
    environment: { KEYED_API_KEY: providerKey },
  },
  tests(stage) {
    let account: TestAccount;
    beforeAll(async () => {
      ({ account } = await createAccounts(stage.service, { account: {} }));
    });

    const asks = async (body: object): Promise<Answer> => {
      const answer = await ask(stage.service, account.inferenceKey, body);
      expect(`${answer.text}${JSON.stringify([...answer.headers])}`).not.toContain(rawText);
      return answer;
    };

    describe.each(everyWay)('$name', ({ flow, stream }) => {
      it('the provider learns nothing about the client, and gets the key of the service', async () => {
        const body = { model: stage.model('keyed'), stream, messages: [{ role: 'user', content: 'hi' }] };
        const credential = await credentialFor(stage.service, account.inferenceKey, body, flow);
        if (credential instanceof Answer) throw new Error('no ticket');
        const answer = await fetch(`${stage.service.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: {
            ...credential,
            'content-type': 'application/json',
            'user-agent': 'CLIENT-MARK/1.0',
            cookie: 'CLIENT-MARK=1',
            'x-forwarded-for': '203.0.113.7',
            'http-referer': 'https://CLIENT-MARK.example',
            'x-title': 'CLIENT-MARK',
            'x-stainless-lang': 'CLIENT-MARK',
            'openai-organization': 'CLIENT-MARK',
            traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          },
          body: JSON.stringify({
            ...body,
            metadata: { mark: 'CLIENT-MARK' },
            prompt_cache_key: 'CLIENT-MARK',
            store: true,
          }),
        });
        const requestId = answer.headers.get('x-request-id') ?? '';
        await answer.text();
        const [seen] = stage.provider('keyed').seen;
        expect(seen?.headers.authorization).toBe(`Bearer ${providerKey}`);
        expect(seen?.headers['accept-encoding']).toBe('identity');
        const everything = JSON.stringify([seen?.path, seen?.headers, seen?.body]);
        expect(everything).not.toMatch(/CLIENT-MARK|203\.0\.113\.7|0af7651916cd43dd|sotto_inf_/);
        expect(everything).not.toContain(requestId);
        if ('x-router-ticket' in credential) expect(everything).not.toContain(credential['x-router-ticket']);
        expect(seen?.headers).not.toHaveProperty('x-router-ticket');
      });
    });

    describe.each(bothModes)('$name', ({ stream }) => {
      const type = stream ? 'text/event-stream' : 'application/json';
      const good = stream ? sse.text('A whole answer.') + sse.ending : whole;
      const sends =
        (headers: Record<string, string>, body: string | Buffer): ProviderHandler =>
        (_request, response) => {
          response.writeHead(200, { 'content-type': type, ...headers }).end(body);
        };

      it.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed: the next serves', async (status) => {
        stage.on('alpha', (_request, response) => {
          response.writeHead(status, { location: `${stage.provider('elsewhere').baseUrl}/chat/completions` }).end();
        });
        const answer = await asks({ model: stage.model('pair'), stream });
        expect(answer.content).toBe(textOf('beta'));
        expect(stage.called).toEqual(['alpha', 'beta']);
      });

      it.each([
        ['gzip', gzipSync(good)],
        ['deflate', deflateSync(good)],
        ['br', brotliCompressSync(good)],
        ['gzip, identity', gzipSync(good)],
        // The header alone decides: the broker never reads a body that claims to be compressed.
        ['gzip', Buffer.from(good)],
      ])('an answer compressed by %s is refused: the next serves', async (encoding, bytes) => {
        stage.on('alpha', sends({ 'content-encoding': encoding }, bytes));
        const answer = await asks({ model: stage.model('pair'), stream });
        expect(answer.content).toBe(textOf('beta'));
        expect(stage.called).toEqual(['alpha', 'beta']);
      });

      it('an answer that says it is not compressed is accepted', async () => {
        stage.on('alpha', sends({ 'content-encoding': 'identity' }, good));
        expect((await asks({ model: stage.model('pair'), stream })).content).toBe('A whole answer.');
      });

      it('a failed answer that is compressed keeps the meaning of its status', async () => {
        stage.on('alpha', (_request, response) => {
          response.writeHead(429, { 'content-encoding': 'gzip', 'retry-after': '4' }).end(gzipSync(rawText));
        });
        const answer = await asks({ model: stage.model('single'), stream });
        expect(answer).toMatchObject({ status: 429, error: { type: 'rate_limited' } });
        expect(answer.headers.get('retry-after')).toBe('4');
      });

      it('an answer whose content type is spelled differently is read by its meaning', async () => {
        stage.on('alpha', sends({ 'content-type': `${type}; charset=utf-8` }, good));
        expect((await asks({ model: stage.model('single'), stream })).content).toBe('A whole answer.');
        stage.on('alpha', (_request, response) => {
          response.writeHead(200).end(good);
        });
        expect((await asks({ model: stage.model('single'), stream })).content).toBe('A whole answer.');
      });

      it('informational (1xx) answers are skipped', async () => {
        stage.on('alpha', (_request, response) => {
          response.writeProcessing();
          response.writeEarlyHints({ link: '</x>; rel=preload' });
          response.writeHead(200, { 'content-type': type }).end(good);
        });
        expect((await asks({ model: stage.model('pair'), stream })).content).toBe('A whole answer.');
      });

      it.each<[string, string[], boolean]>([
        ['no HTTP at all', ['SSH-2.0-OpenSSH_9.6\r\n'], false],
        ['noise', [rawText.repeat(100)], true],
        [
          'a chunk of no size',
          [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n`],
          false,
        ],
        ['chunks that stop', [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`], true],
        [
          'a length that is not kept',
          [`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 999\r\n\r\n: \n`],
          true,
        ],
        ['a status that is none', ['HTTP/1.1 999999 OK\r\n\r\n'], false],
        ['an upgrade', ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'], false],
        [
          'headers without end',
          ['HTTP/1.1 200 OK\r\n', ...Array<string>(40).fill(`x: ${'y'.repeat(4096)}\r\n`)],
          false,
        ],
        ['a smuggled header', ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}'], false],
      ])('%s: the next serves', async (_, says, end) => {
        stage.raw.says(says, end);
        const answer = await asks({ model: stage.model('raw'), stream });
        expect(answer).toMatchObject({ status: 200, content: textOf('beta') });
        expect(answer.headers.get('x-router-provider-attempts')).toBe('2');
        expect(stage.service.logs()).not.toContain(rawText);
      });
    });

    it.each(flows)('a provider without its key, or with a dead one, tells no client about it (%s)', async (flow) => {
      stage.on('keyed', answerError(401, { message: `Incorrect API key provided: ${providerKey}. ${rawText}` }));
      const provider = { order: ['keyed'], max_attempts: 1 };
      const answer = await ask(
        stage.service,
        account.inferenceKey,
        { model: stage.model('keyed'), provider },
        { flow },
      );
      expect(answer).toMatchObject({ status: 502, error: { type: 'provider_error' } });
      expect(answer.text).not.toMatch(new RegExp(`${providerKey}|${rawText}|API key`));
      expect(stage.service.logs()).not.toContain(providerKey);
    });
  },
};
