import { describe, expect, it } from 'vitest';
import { answerChat } from '../../kit/provider.ts';
import { until } from '../../kit/service.ts';
import { ask, bearer, expectError, get, hello, post, ticketHeader } from './client.ts';
import { type Concept, describeConformance } from './suite.ts';

const model = 'acme/small';
const duration = /^(\d+m)?\d+(\.\d+)?(ms|s)$/;
const [requestLimit, tokenLimit] = [12, 10_000];

/** Interface 3.1, 4.7, 7, 8: what runs out. Each test has a key of its own, because limits are per key. */
const limits: Concept = (suite) => {
  const mint = (key: string, body: object = { model }) =>
    post(`${suite.service.controlUrl}/inference/tickets`, body, bearer(key));
  const present = (ticket: string, body: object = {}) =>
    post(`${suite.service.baseUrl}/chat/completions`, { model, messages: hello, ...body }, ticketHeader(ticket));

  describe('a ticket that expires', () => {
    it('interface 3.1: is 401 invalid_ticket whatever else is wrong', async () => {
      const { ticket, expires_at } = await suite.service.mintTicket(suite.spareKey(), { model });
      // TICKET_TTL_S is 2 here.
      expect(Date.parse(expires_at) - Date.now()).toBeLessThan(2500);
      // A mismatch leaves it valid, so that it tells when it expires.
      expectError(await present(ticket, { model: 'acme/plain' }), 409, 'ticket_model_mismatch');
      await until(
        async () => (await present(ticket, { model: 'acme/plain' })).status !== 409,
        'the ticket expires',
        10_000,
      );
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expires_at) - 1000);
      for (const body of [
        {},
        { model: 'acme/plain' },
        { model: 'acme/nothing' },
        { provider: 'beta' },
        { reasoning_effort: 'low' },
      ]) {
        expectError(await present(ticket, body), 401, 'invalid_ticket');
      }
      expect(suite.asked).toBe(0);
    });

    it('interface 3.1: that was used before stays used', async () => {
      const { ticket } = await suite.service.mintTicket(suite.spareKey(), { model });
      expect((await present(ticket)).status).toBe(200);
      expectError(await present(ticket), 401, 'invalid_ticket');
    });
  });

  describe('rate limits', () => {
    it.each(['compatibility', 'ticket'] as const)(
      'interface 7, 8: too many requests are 429 rate_limited with retry-after (%s)',
      async (flow) => {
        const key = suite.spareKey();
        const remaining: number[] = [];
        const began = Date.now();
        // A window that slides gives some back on the way: the more, the slower the machine.
        const atMost = (): number => requestLimit + Math.ceil(((Date.now() - began) / 60_000) * requestLimit);
        let seen = suite.asked;
        let answer = await ask(suite.service, key, { model, max_tokens: 5 }, { flow });
        for (; answer.status !== 429; answer = await ask(suite.service, key, { model, max_tokens: 5 }, { flow })) {
          expect(answer.status, answer.text).toBe(200);
          expect(answer.headers.get('x-ratelimit-limit-requests')).toBe(String(requestLimit));
          expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe(String(tokenLimit));
          expect(answer.headers.get('x-ratelimit-reset-requests')).toMatch(duration);
          remaining.push(Number(answer.headers.get('x-ratelimit-remaining-requests')));
          expect(remaining.length).toBeLessThanOrEqual(atMost());
          seen = suite.asked;
        }
        expect(remaining.length).toBeGreaterThanOrEqual(requestLimit);
        expect(remaining[0]).toBe(requestLimit - 1);
        expect(remaining.at(-1)).toBe(0);
        const refused = answer;
        expectError(refused, 429, 'rate_limited');
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
        expect(refused.headers.get('x-ratelimit-limit-requests')).toBe(String(requestLimit));
        expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
        expect(refused.headers.get('x-ratelimit-reset-requests')).toMatch(duration);
        expect(suite.asked).toBe(seen);
        // Per key (design 6): another one of the account goes on.
        expect((await ask(suite.service, suite.spareKey(), { model }, { flow })).status).toBe(200);
      },
    );

    it('design 6: RATE_LIMIT_TOKENS bounds tokens', async () => {
      const key = suite.spareKey();
      const statuses: number[] = [];
      const remaining: number[] = [];
      // Counted before or after, there are more than 1000 a request.
      suite.world.provider('acme').answer(answerChat({ promptTokens: 1000, completionTokens: 900 }));
      const messages = [{ role: 'user', content: 'a quick brown fox jumps over a lazy dog. '.repeat(120) }];
      for (let asked = 0; asked < requestLimit; asked++) {
        const answer = await ask(suite.service, key, { model, messages, max_tokens: 1000 });
        statuses.push(answer.status);
        remaining.push(Number(answer.headers.get('x-ratelimit-remaining-tokens')));
        if (answer.status === 429) {
          expectError(answer, 429, 'rate_limited');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
          break;
        }
      }
      expect(statuses[0]).toBe(200);
      expect(remaining[0]).toBeLessThan(tokenLimit);
      expect(statuses.at(-1)).toBe(429);
    });

    it('an answer does not tell that no tokens remain because its request was estimated at more than the limit', async () => {
      const key = suite.spareKey();
      const messages = [{ role: 'user', content: 'a quick brown fox '.repeat(2000) }];
      const wide = { model: 'acme/roomy', messages, max_tokens: 5 };
      const first = await ask(suite.service, key, wide);
      expect(first.status, first.text).toBe(200);
      expect(first.headers.get('x-ratelimit-remaining-tokens')).toBe(String(tokenLimit));
      await suite.service.settled(suite.account);
      const second = await ask(suite.service, key, { model });
      expect(second.status, second.text).toBe(200);
      const remaining = Number(second.headers.get('x-ratelimit-remaining-tokens'));
      expect(remaining).toBeGreaterThan(0);
      expect(remaining).toBeLessThan(tokenLimit);
    });

    it('design 6: minting is limited per key at twice RATE_LIMIT_REQUESTS', async () => {
      const key = suite.spareKey();
      for (let asked = 0; asked < 2 * requestLimit; asked++) expect((await mint(key)).status).toBe(200);
      const refused = await mint(key);
      expectError(refused, 429, 'rate_limited');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await mint(suite.spareKey())).status).toBe(200);
    });

    it('design 6: RATE_LIMIT_CONTROL bounds what is asked without a credential, by address', async () => {
      const url = `${suite.service.controlUrl}/capabilities`;
      let answer = await get(url);
      for (let asked = 0; asked < 150 && answer.status === 200; asked++) answer = await get(url);
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      // A credential has a limit of its own.
      const listed = await get(`${suite.service.controlUrl}/models`, bearer(suite.account.inferenceKey));
      expect(listed.status).toBe(200);
      // Health is asked by machines that cannot wait.
      expect((await get(`${new URL(url).origin}/readyz`)).status).toBe(200);
    });

    it('design 6: RATE_LIMIT_CONTROL bounds made-up credentials, too, by address; a known one goes on', async () => {
      const url = `${suite.service.controlUrl}/models`;
      const known = bearer(suite.spareKey());
      expect((await get(url, known)).status).toBe(200);
      let made = 0;
      let answer = await get(url, bearer('made-up'));
      for (; made < 150 && answer.status === 401; made++) answer = await get(url, bearer(`made-up-${made}`));
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await get(url, known)).status).toBe(200);
    });
  });
};

await describeConformance(
  'limits',
  [limits],
  { keys: 11 },
  {
    TICKET_TTL_S: '2',
    RATE_LIMIT_REQUESTS: String(requestLimit),
    RATE_LIMIT_TOKENS: String(tokenLimit),
    RATE_LIMIT_CONTROL: '100',
  },
);
