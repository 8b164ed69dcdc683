import { ticketAnswerSchema } from '@sotto/contract/control/tickets';
import { describe, expect, it } from 'vitest';
import { ask, bearer, flows, redeem } from '../../kit/client.ts';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerChat } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

const model = 'acme/small';
const duration = /^(\d+m)?\d+(\.\d+)?(ms|s)$/;
const [requestLimit, tokenLimit, controlLimit] = [12, 10_000, 100];
/** Exceeds the limit of control even if a minute begins during the burst. */
const controlBurst = 2 * controlLimit + 50;

/** How often a limit may have let a key through since this call. A key gets its whole limit back at each full minute. */
function mostSoFar(perMinute: number): () => number {
  const minute = (): number => Math.floor(Date.now() / 60_000);
  const began = minute();
  return () => perMinute * (minute() - began + 1);
}

/** Tests ticket expiry and rate limits. Limits are per key, so each test uses its own key. */
const limits: Concept = (suite) => {
  const mint = (key: string, body: object = { model }) =>
    post(`${suite.service.controlUrl}/inference/tickets`, body, bearer(key));
  const present = (ticket: string, body: object = {}) => redeem(suite.service, ticket, { model, ...body });

  describe('a ticket that expires', () => {
    it('an expired ticket is 401 invalid_ticket, whatever else is wrong', async () => {
      const { ticket, expires_at } = await suite.service.mintTicket(suite.spareKey(), { model });
      // This suite sets TICKET_TTL_S to 2.
      expect(Date.parse(expires_at) - Date.now()).toBeLessThan(2500);
      // A mismatch leaves the ticket valid, so the test can repeat it until the ticket expires.
      expectError(await present(ticket, { model: 'acme/plain' }), 409, 'ticket_model_mismatch');
      await until(async () => (await present(ticket, { model: 'acme/plain' })).status !== 409, 'the ticket expires');
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

    it('a used ticket stays used after it expires', async () => {
      const { ticket, expires_at } = await suite.service.mintTicket(suite.spareKey(), { model });
      expect((await present(ticket)).status).toBe(200);
      expectError(await present(ticket), 401, 'invalid_ticket');
      await until(() => Date.now() > Date.parse(expires_at) + 1000, 'the ticket has expired');
      expectError(await present(ticket), 401, 'invalid_ticket');
      expect(suite.asked).toBe(1);
    });
  });

  describe('rate limits', () => {
    it.each(flows)('too many requests are 429 rate_limited with retry-after (%s)', async (flow) => {
      const key = suite.spareKey();
      const remaining: number[] = [];
      const atMost = mostSoFar(requestLimit);
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
      // The limit is per key, so another key of the same account is still served.
      expect((await ask(suite.service, suite.spareKey(), { model }, { flow })).status).toBe(200);
    });

    it('RATE_LIMIT_TOKENS bounds tokens', async () => {
      const key = suite.spareKey();
      const statuses: number[] = [];
      const remaining: number[] = [];
      // Each request exceeds 1000 tokens, whether the limit counts the estimate or the actual usage.
      suite.provider('acme').answer(answerChat({ promptTokens: 1000, completionTokens: 900 }));
      const messages = [{ role: 'user', content: 'a quick brown fox jumps over a lazy dog. '.repeat(120) }];
      const atMost = mostSoFar(requestLimit);
      while (statuses.at(-1) !== 429 && statuses.length < atMost()) {
        const answer = await ask(suite.service, key, { model, messages, max_tokens: 1000 });
        statuses.push(answer.status);
        remaining.push(Number(answer.headers.get('x-ratelimit-remaining-tokens')));
        if (answer.status === 429) {
          expectError(answer, 429, 'rate_limited');
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
        }
      }
      expect(statuses[0]).toBe(200);
      expect(remaining[0]).toBeLessThan(tokenLimit);
      expect(statuses.at(-1)).toBe(429);
    });

    it('an answer does not report that no tokens remain when the estimate of its own request exceeds the limit', async () => {
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

    it('minting is limited per key at twice RATE_LIMIT_REQUESTS', async () => {
      const key = suite.spareKey();
      const atMost = mostSoFar(2 * requestLimit);
      let minted = 0;
      let answer = await mint(key);
      for (; answer.status === 200; answer = await mint(key)) {
        minted += 1;
        expect(minted).toBeLessThanOrEqual(atMost());
      }
      expect(minted).toBeGreaterThanOrEqual(2 * requestLimit);
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await mint(suite.spareKey())).status).toBe(200);
    });

    it('each ticket of a request with `count` counts, and beyond the limit there is none of them', async () => {
      const key = suite.spareKey();
      const atMost = mostSoFar(2 * requestLimit);
      let minted = 0;
      let answer = await mint(key, { model, count: 9 });
      for (; answer.status === 200; answer = await mint(key, { model, count: 9 })) {
        minted += 9;
        expect(ticketAnswerSchema.parse(answer.json).tickets).toHaveLength(9);
        expect(Number(answer.headers.get('x-ratelimit-remaining'))).toBeLessThanOrEqual(2 * requestLimit - 9);
        expect(minted).toBeLessThanOrEqual(atMost());
      }
      expect(minted).toBeGreaterThanOrEqual(18);
      expectError(answer, 429, 'rate_limited');
    });

    it('RATE_LIMIT_CONTROL bounds requests without a credential, by address', async () => {
      const url = `${suite.service.controlUrl}/capabilities`;
      let answer = await get(url);
      for (let asked = 0; asked < controlBurst && answer.status === 200; asked++) answer = await get(url);
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      // A valid credential has its own limit.
      const listed = await get(`${suite.service.controlUrl}/models`, bearer(suite.account.inferenceKey));
      expect(listed.status).toBe(200);
      // Health checks are not limited, because orchestrators cannot wait.
      expect((await get(`${new URL(url).origin}/readyz`)).status).toBe(200);
    });

    it('RATE_LIMIT_CONTROL also bounds invalid credentials, by address; a valid one still works', async () => {
      const url = `${suite.service.controlUrl}/models`;
      const known = bearer(suite.spareKey());
      expect((await get(url, known)).status).toBe(200);
      let made = 0;
      let answer = await get(url, bearer('made-up'));
      for (; made < controlBurst && answer.status === 401; made++) answer = await get(url, bearer(`made-up-${made}`));
      expectError(answer, 429, 'rate_limited');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await get(url, known)).status).toBe(200);
    });
  });
};

await describeConformance('limits', [limits], {
  keys: 20,
  environment: {
    TICKET_TTL_S: '2',
    RATE_LIMIT_REQUESTS: String(requestLimit),
    RATE_LIMIT_TOKENS: String(tokenLimit),
    RATE_LIMIT_CONTROL: String(controlLimit),
  },
  // On a Redis Cluster, each control process counts alone.
  planes: ['two', 'cluster'],
});
