import { describe, expect, it } from 'vitest';
import { type Answer, allOf } from '../../kit/answer.ts';
import { ask, bearer, flows, hello, ticketHeader } from '../../kit/client.ts';
import { acmeApiKey, type Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerChat, answerError, sendJson } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';

const model = 'acme/small';
const duration = /^(\d+m)?\d+(\.\d+)?(ms|s)$/;

/** Tests what request and response headers contain, and what they never reveal (docs/reference/headers.md). */
export const responseHeaders: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;
  /** Buys a ticket for a model. */
  const mint = async (asked: string): Promise<string> =>
    (await suite.service.mintTicket(key(), { model: asked })).ticket;

  describe.each(flows)('headers, %s flow', (flow) => {
    describe.each([false, true])('stream: %s', (stream) => {
      const askFor = (body: object, headers: Record<string, string> = {}) =>
        ask(suite.service, key(), { model, stream, ...body }, { flow, headers });

      it('a completion names the provider that served it, and how the broker chose it', async () => {
        const { status, headers } = await askFor({});
        expect(status).toBe(200);
        expect(headers.get('x-router-selected-model')).toBe('acme/acme/small');
        expect(headers.get('x-router-routing')).toBe('exact');
        expect(headers.get('x-router-provider')).toBe('acme');
        expect(headers.get('x-router-provider-attempts')).toBe('1');
        expect(headers.get('x-router-provider-fallback')).toBe('false');
        expect(headers.get('x-router-privacy-class')).toBe('private');
      });

      it('a completion names the serving provider after a fallback', async () => {
        suite.provider('vault').answer(answerError(403));
        const { status, headers } = await askFor({
          model: 'acme/wide',
          provider: { order: ['vault', 'acme', 'beta'] },
        });
        expect(status).toBe(200);
        expect(headers.get('x-router-selected-model')).toBe('acme/acme/wide');
        expect(headers.get('x-router-provider')).toBe('acme');
        expect(headers.get('x-router-provider-attempts')).toBe('2');
        expect(headers.get('x-router-provider-fallback')).toBe('true');
        expect(headers.get('x-router-privacy-class')).toBe('private');
      });

      it('rate limits are reported', async () => {
        const { headers } = await askFor({});
        expect(headers.get('x-ratelimit-limit-requests')).toBe('1000000');
        expect(Number(headers.get('x-ratelimit-remaining-requests'))).toBeLessThan(1_000_000);
        expect(Number(headers.get('x-ratelimit-remaining-requests'))).toBeGreaterThan(900_000);
        expect(headers.get('x-ratelimit-reset-requests')).toMatch(duration);
        expect(headers.get('x-ratelimit-limit-tokens')).toBe('1000000000');
        expect(Number(headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(900_000_000);
        expect(headers.get('x-ratelimit-reset-tokens')).toMatch(duration);
      });

      it('answers to a request with a credential must not be stored', async () => {
        expect((await askFor({})).headers.get('cache-control')).toContain('no-store');
        expect((await askFor({ n: 2 })).headers.get('cache-control')).toContain('no-store');
      });

      it('no header of the client reaches the provider', async () => {
        const answer = await askFor(
          {},
          {
            'http-referer': 'https://CLIENT.example',
            referer: 'https://CLIENT.example',
            'x-title': 'CLIENT',
            'user-agent': 'CLIENT/1',
            cookie: 'session=CLIENT',
            'x-forwarded-for': '203.0.113.77',
            'x-request-id': 'CLIENT',
            traceparent: '00-c1e47c1e47c1e47c1e47c1e47c1e47c1-c1e47c1e47c1e47c-01',
            'accept-language': 'x-client',
            'openai-organization': 'CLIENT',
            'x-stainless-lang': 'CLIENT',
            'x-custom': 'CLIENT',
            'idempotency-key': 'CLIENT',
          },
        );
        expect(answer.status, answer.text).toBe(200);
        const { headers, text } = suite.lastSeen();
        const sent = JSON.stringify(headers);
        for (const mark of ['CLIENT', '203.0.113.77', 'c1e47c1e47', 'x-client', key(), 'x-router']) {
          expect(sent).not.toContain(mark);
          expect(text).not.toContain(mark);
        }
        expect(headers.authorization).toBe(`Bearer ${acmeApiKey}`);
        const expected = ['accept', 'accept-encoding', 'authorization', 'connection', 'content-length'];
        expect([...expected, 'content-type', 'host', 'transfer-encoding', 'user-agent']).toEqual(
          expect.arrayContaining(Object.keys(headers)),
        );
      });

      it('no header of the provider reaches the client', async () => {
        const usual = answerChat();
        suite.provider('acme').answer((request, response) => {
          const own = ['x-upstream-secret', 'openai-organization', 'x-request-id', 'x-ratelimit-foo', 'authorization'];
          for (const name of [...own, 'server', 'via', 'location']) response.setHeader(name, 'UPSTREAM');
          response.setHeader('set-cookie', 'a=UPSTREAM');
          response.setHeader('x-ratelimit-limit-requests', '77777');
          return usual(request, response);
        });
        const answer = await askFor({});
        expect(answer.status).toBe(200);
        expect(allOf(answer)).not.toMatch(/UPSTREAM|77777/);
        expect(allOf(answer)).not.toContain(acmeApiKey);
      });
    });

    it('embeddings report the selection and the rate limits', async () => {
      const answer = await ask(
        suite.service,
        key(),
        { model: 'acme/embed', input: 'hi' },
        { flow, path: '/embeddings' },
      );
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get('x-router-selected-model')).toBe('acme/acme/embed');
      expect(answer.headers.get('x-router-routing')).toBe('exact');
      for (const what of ['requests', 'tokens']) {
        for (const which of ['limit', 'remaining', 'reset'])
          expect(answer.headers.get(`x-ratelimit-${which}-${what}`)).toMatch(/^\d/);
      }
      expect(answer.headers.get('cache-control')).toContain('no-store');
    });

    describe('of an error', () => {
      const limits = ['requests', 'tokens'].flatMap((what) =>
        ['limit', 'remaining', 'reset'].map((which) => `x-ratelimit-${which}-${what}`),
      );
      const missing = ({ headers }: Answer, names: readonly string[]): string[] =>
        names.filter((name) => !headers.has(name));
      const selection = ['x-router-selected-model', 'x-router-routing'];

      it.each<[string, string, string, object]>([
        ['messages that are malformed', '/chat/completions', model, { messages: 'hello' }],
        ['a policy that is malformed', '/chat/completions', model, { messages: hello, provider: 1 }],
        ['too much output asked for', '/chat/completions', model, { messages: hello, max_tokens: 7999 }],
        ['no JSON', '/chat/completions', model, {}],
        ['no input', '/embeddings', 'acme/embed', { input: [] }],
      ])('the limits are reported before redemption: %s', async (_, path, asked, body) => {
        const credential = flow === 'ticket' ? ticketHeader(await mint(asked)) : bearer(key());
        const url = `${suite.service.baseUrl}${path}`;
        const isJson = Object.keys(body).length > 0;
        const headers = { ...credential, 'content-type': 'application/json' };
        const answer = await post(url, isJson ? { model: asked, ...body } : '{"model":', headers);
        expect(answer.status, answer.text).toBe(400);
        expect(missing(answer, limits)).toEqual([]);
        expect(missing(answer, selection)).toEqual(selection);
        // The rejected request used nothing, so the ticket is still valid.
        const good = path === '/embeddings' ? { input: 'x' } : { messages: hello };
        expect((await post(url, { model: asked, ...good }, credential)).status).toBe(200);
      });

      if (flow === 'compatibility')
        it('for an unknown model, the limits are reported', async () => {
          const answer = await ask(suite.service, key(), { model: 'acme/none' });
          expectError(answer, 404, 'model_not_found');
          expect(missing(answer, limits)).toEqual([]);
        });

      it('for an unsupported content type, the limits are reported', async () => {
        const credential = flow === 'ticket' ? ticketHeader(await mint(model)) : bearer(key());
        const headers = { ...credential, 'content-type': 'text/plain' };
        const answer = await post(`${suite.service.baseUrl}/chat/completions`, 'hello', headers);
        expectError(answer, 415, 'unsupported_media_type');
        expect(missing(answer, limits)).toEqual([]);
      });

      it('if the broker made a plan, the chosen model is reported as well', async () => {
        const poor = await suite.service.createAccount({ usd: 0.000001 });
        const unpaid = await ask(suite.service, poor.inferenceKey, { model }, { flow });
        expectError(unpaid, 402, 'insufficient_balance');
        expect(missing(unpaid, limits)).toEqual([]);
        expect(unpaid.headers.get('x-router-selected-model')).toBe('acme/acme/small');
        expect(unpaid.headers.get('x-router-routing')).toBe('exact');
        expect(unpaid.headers.has('x-router-provider')).toBe(false);

        suite.provider('acme').answer(answerError(400));
        const refused = await ask(suite.service, key(), { model }, { flow });
        expectError(refused, 400, 'invalid_request');
        expect(missing(refused, limits)).toEqual([]);
        expect(refused.headers.get('x-router-selected-model')).toBe('acme/acme/small');
        expect(refused.headers.get('x-router-routing')).toBe('exact');
      });

      it('an invalid credential gets no limits', async () => {
        const credential = flow === 'ticket' ? ticketHeader('made-up') : bearer('sotto_inf_bad');
        const answer = await post(`${suite.service.baseUrl}/chat/completions`, { model, messages: hello }, credential);
        expect(answer.status).toBe(401);
        expect(missing(answer, limits)).toEqual(limits);
      });

      if (flow === 'ticket')
        it('after redemption, the answer tells an SDK not to send the ticket again', async () => {
          for (const status of [400, 429, 500, 503]) {
            suite.provider('flaky').answer(answerError(status));
            const { headers } = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
            expect(headers.get('x-should-retry'), String(status)).toBe('false');
          }
        });

      it('the rate limit of a provider names it, or `other` if it is unlisted', async () => {
        const names = async (asked: string, provider: string): Promise<string> => {
          suite.provider(provider).answer(answerError(429));
          const answer = await ask(suite.service, key(), { model: asked }, { flow });
          expectError(answer, 429, 'rate_limited');
          return (answer.json as { error: { message: string } }).error.message;
        };
        expect(await names('flaky/chat', 'flaky')).toContain('provider `flaky`');
        expect(await names('shadow/only', 'hiddenco')).toContain('provider `other`');
      });
    });

    it('an ambiguous failure tells SDKs not to retry', async () => {
      suite.provider('flaky').answer((_, response) => {
        response.destroy();
      });
      const cut = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(cut, 502, 'provider_error');
      expect(cut.headers.get('x-should-retry')).toBe('false');
      expect(cut.headers.get('x-ratelimit-limit-requests')).toBe('1000000');
      suite.provider('flaky').answer((_, response) => sendJson(response, 200, { nonsense: true }));
      const nonsense = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(nonsense, 502, 'provider_error');
      expect(nonsense.headers.get('x-should-retry')).toBe('false');
    });

    it('a 429 of a provider becomes our 429, with the wait that it says, and none if it says none', async () => {
      suite.provider('flaky').answer(answerError(429, { message: 'RAW' }, { 'retry-after': '17' }));
      const said = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(said, 429, 'rate_limited');
      expect(said.headers.get('retry-after')).toBe('17');
      suite.provider('flaky').answer(answerError(429));
      const unsaid = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expect([unsaid.headers.get('retry-after'), unsaid.headers.get('retry-after-ms')]).toEqual([null, null]);
      suite.provider('flaky').answer(answerError(429, {}, { 'retry-after-ms': '1500' }));
      const exact = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expect([exact.headers.get('retry-after'), exact.headers.get('retry-after-ms')]).toEqual(['2', '1500']);
      expect(said.text + unsaid.text).not.toContain('RAW');
    });
  });

  describe('identifiers', () => {
    it('the ids of one request cannot be linked', async () => {
      const answers = await Promise.all([1, 2].map(() => ask(suite.service, key(), { model, messages: hello })));
      const ids = answers.map(({ json }) => (json as { id: string }).id);
      expect(new Set(ids).size).toBe(2);
      for (const [index, { headers }] of answers.entries()) {
        const requestId = headers.get('x-request-id') ?? '';
        expect(requestId).toMatch(/\S/);
        expect(ids[index]).not.toContain(requestId);
      }
      for (const { headers, text } of suite.provider('acme').seen)
        for (const id of ids) expect(JSON.stringify(headers) + text).not.toContain(id);
    });

    it('each error has its own request_id', async () => {
      const url = `${suite.service.baseUrl}/models`;
      const errors = await Promise.all([1, 2, 3].map(() => get(url, bearer('sotto_inf_bad'))));
      for (const error of errors) expectError(error, 401, 'invalid_api_key');
      const ids = errors.map(({ json }) => (json as { error: { request_id: string } }).error.request_id);
      expect(new Set(ids).size).toBe(3);
    });
  });
};
