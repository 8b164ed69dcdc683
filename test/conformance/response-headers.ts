import { describe, expect, it } from 'vitest';
import { answerChat, answerError, sendJson } from '../kit/provider.ts';
import { allOf, ask, bearer, expectError, flows, get, hello } from './client.ts';
import type { Concept } from './suite.ts';
import { acmeApiKey } from './world.ts';

const model = 'acme/small';
const duration = /^(\d+m)?\d+(\.\d+)?(ms|s)$/;

/** Interface 4.7 and design 6: what headers say in both directions, and what they never carry. */
export const responseHeaders: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('headers, %s flow', (flow) => {
    describe.each([false, true])('stream: %s', (stream) => {
      const askFor = (body: object, headers: Record<string, string> = {}) =>
        ask(suite.service, key(), { model, stream, ...body }, { flow, headers });

      it('interface 4.7: a completion says which provider served it, and how', async () => {
        const { status, headers } = await askFor({});
        expect(status).toBe(200);
        expect(headers.get('x-router-selected-model')).toBe('acme/acme/small');
        expect(headers.get('x-router-routing')).toBe('exact');
        expect(headers.get('x-router-provider')).toBe('acme');
        expect(headers.get('x-router-provider-attempts')).toBe('1');
        expect(headers.get('x-router-provider-fallback')).toBe('false');
        expect(headers.get('x-router-privacy-class')).toBe('private');
      });

      it('interface 4.7: and so it does after a fallback', async () => {
        suite.world.provider('vault').answer(answerError(403));
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

      it('interface 4.7: rate limits are reported', async () => {
        const { headers } = await askFor({});
        expect(headers.get('x-ratelimit-limit-requests')).toBe('1000000');
        expect(Number(headers.get('x-ratelimit-remaining-requests'))).toBeLessThan(1_000_000);
        expect(Number(headers.get('x-ratelimit-remaining-requests'))).toBeGreaterThan(900_000);
        expect(headers.get('x-ratelimit-reset-requests')).toMatch(duration);
        expect(headers.get('x-ratelimit-limit-tokens')).toBe('1000000000');
        expect(Number(headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(900_000_000);
        expect(headers.get('x-ratelimit-reset-tokens')).toMatch(duration);
      });

      it('design 6: answers with a credential are not to be stored', async () => {
        expect((await askFor({})).headers.get('cache-control')).toContain('no-store');
        expect((await askFor({ n: 2 })).headers.get('cache-control')).toContain('no-store');
      });

      it("design 1: nothing of the client's headers reaches the provider", async () => {
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

      it("section 1 of the design: nothing of the provider's headers reaches the client", async () => {
        const usual = answerChat();
        suite.world.provider('acme').answer((request, response) => {
          for (const name of ['x-upstream-secret', 'openai-organization', 'server', 'x-request-id', 'x-ratelimit-foo'])
            response.setHeader(name, 'UPSTREAM');
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

    it('interface 4.7: embeddings report the selection and the rate limits', async () => {
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

    it('design 6: an ambiguous failure tells SDKs not to retry', async () => {
      suite.world.provider('flaky').answer((_, response) => {
        response.destroy();
      });
      const cut = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(cut, 502, 'provider_error');
      expect(cut.headers.get('x-should-retry')).toBe('false');
      expect(cut.headers.get('x-ratelimit-limit-requests')).toBe('1000000');
      suite.world.provider('flaky').answer((_, response) => sendJson(response, 200, { nonsense: true }));
      const nonsense = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(nonsense, 502, 'provider_error');
      expect(nonsense.headers.get('x-should-retry')).toBe('false');
    });

    it("design 6: a provider's 429 is ours, with its retry-after, else 30", async () => {
      suite.world.provider('flaky').answer(answerError(429, { message: 'RAW' }, { 'retry-after': '17' }));
      const said = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expectError(said, 429, 'rate_limited');
      expect(said.headers.get('retry-after')).toBe('17');
      suite.world.provider('flaky').answer(answerError(429));
      const unsaid = await ask(suite.service, key(), { model: 'flaky/chat' }, { flow });
      expect(unsaid.headers.get('retry-after')).toBe('30');
      expect(said.text + unsaid.text).not.toContain('RAW');
    });
  });

  describe('identifiers', () => {
    it('design 1: ids of one request do not join', async () => {
      const answers = await Promise.all([1, 2].map(() => ask(suite.service, key(), { model, messages: hello })));
      const ids = answers.map(({ json }) => (json as { id: string }).id);
      expect(new Set(ids).size).toBe(2);
      for (const [index, { headers }] of answers.entries()) {
        const requestId = headers.get('x-request-id');
        if (requestId !== null) expect(ids[index]).not.toContain(requestId);
      }
      for (const { headers, text } of suite.world.provider('acme').seen)
        for (const id of ids) expect(JSON.stringify(headers) + text).not.toContain(id);
    });

    it('interface 2.7: each error has a request_id of its own', async () => {
      const url = `${suite.service.baseUrl}/models`;
      const errors = await Promise.all([1, 2, 3].map(() => get(url, bearer('sotto_inf_bad'))));
      for (const error of errors) expectError(error, 401, 'invalid_api_key');
      const ids = errors.map(({ json }) => (json as { error: { request_id: string } }).error.request_id);
      expect(new Set(ids).size).toBe(3);
    });
  });
};
