import { ticketAnswerSchema } from '@sotto/contract/control/tickets';
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { ask, bearer, hello, ticketHeader } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type HeaderMap, post } from '../../kit/send.ts';

const model = 'acme/small';

/** Tests how a client buys a ticket, and when a ticket is used (docs/concepts/tickets.md). */
export const tickets: Concept = (suite) => {
  const mint = (body: unknown, key = suite.account.inferenceKey): Promise<Answer> =>
    post(`${suite.service.controlUrl}/inference/tickets`, body, bearer(key));
  const minted = async (body: object): Promise<string> =>
    (await suite.service.mintTicket(suite.account.inferenceKey, body)).ticket;
  const present = (ticket: string, body: object = {}, path = '/chat/completions'): Promise<Answer> =>
    post(`${suite.service.baseUrl}${path}`, { model, messages: hello, ...body }, ticketHeader(ticket));

  describe('buying a ticket', () => {
    it('the answer has ticket, privacy_class and expires_at', async () => {
      const before = Date.now();
      const answer = await mint({ model });
      expect(answer.status, answer.text).toBe(200);
      const { ticket, privacy_class, expires_at } = ticketAnswerSchema.parse(answer.json);
      expect(ticket.length).toBeGreaterThan(40);
      expect(privacy_class).toBe('private');
      // The default of TICKET_TTL_S is 300.
      const lifeMs = Date.parse(expires_at) - before;
      expect(lifeMs).toBeGreaterThan(299_000 - 1000);
      expect(lifeMs).toBeLessThan(330_000);
      expect(answer.headers.get('cache-control')).toContain('no-store');
    });

    it('with `count`, one answer has several tickets, each for one request; without it, one', async () => {
      expect((await mint({ model })).json).not.toHaveProperty('tickets');
      const { ticket, tickets = [] } = ticketAnswerSchema.parse((await mint({ model, count: 3 })).json);
      expect(new Set(tickets).size).toBe(3);
      expect(tickets[0]).toBe(ticket);
      for (const each of tickets) expect((await present(each)).status).toBe(200);
      for (const each of tickets) expectError(await present(each), 401, 'invalid_ticket');
      expect(ticketAnswerSchema.parse((await mint({ model, count: 1 })).json).tickets).toHaveLength(1);
    });

    it.each([0, 17, 1.5, '2'])('a count of %j is refused by name', async (count) => {
      const answer = await mint({ model, count });
      expectError(answer, 400, 'invalid_request');
      expect(answer.json).toMatchObject({ error: { param: 'count' } });
    });

    it('every ticket is unique, and a header can carry it', async () => {
      const made = await Promise.all(Array.from({ length: 5 }, () => minted({ model })));
      expect(new Set(made).size).toBe(5);
      for (const ticket of made) expect(ticket).toMatch(/^[\x21-\x7e]{1,4096}$/);
    });

    it('two tickets of one account look unrelated, and contain neither key nor account', async () => {
      const { accountId, workspaceId, inferenceKey } = suite.account;
      const [first = '', second = ''] = [await minted({ model }), await minted({ model })];
      const decoded = (ticket: string): string => Buffer.from(ticket, 'base64url').toString('latin1') + ticket;
      for (const secret of [accountId, workspaceId, inferenceKey, inferenceKey.slice(-12)])
        expect(decoded(first)).not.toContain(secret);
      expect(first.length).toBe(second.length);
      let same = 0;
      for (let index = 40; index < first.length; index++) if (first[index] === second[index]) same++;
      // Random tickets share one character in 64.
      expect(same).toBeLessThan(first.length / 8);
    });

    it.each<[string, object, string]>([
      // With the default sort, every more private provider may fail, so the request can reach the weakest class.
      ['nothing', {}, 'anonymous'],
      ['a sort by privacy', { provider: { sort: 'privacy' } }, 'tee'],
      ['a pin', { provider: 'beta' }, 'anonymous'],
      ['a stated floor', { provider: { minimum_privacy: 'private' } }, 'private'],
      ['a stated floor of anonymous', { provider: { minimum_privacy: 'anonymous' } }, 'anonymous'],
      ['an order that names a weaker one', { provider: { order: ['vault', 'acme'] } }, 'private'],
      ['a strong floor', { provider: { minimum_privacy: 'tee' } }, 'tee'],
      ['one attempt by an order', { provider: { order: ['vault', 'beta'], max_attempts: 1 } }, 'tee'],
      ['an order without fallback', { provider: { order: ['acme', 'beta'], allow_fallbacks: false } }, 'private'],
      [
        'one attempt by privacy',
        { provider: { minimum_privacy: 'anonymous', sort: 'privacy', max_attempts: 1 } },
        'tee',
      ],
    ])('privacy_class is the weakest class that %s could reach', async (_, body, expected) => {
      const answer = await mint({ model: 'acme/wide', ...body });
      expect(answer.json).toMatchObject({ privacy_class: expected });
    });

    it.each<[string, unknown]>([
      ['an unknown key', { model, bogus: 1 }],
      ['the messages', { model, messages: hello }],
      ['a prompt', { model, prompt: 'CONTENT' }],
      ['an input', { model, input: 'CONTENT' }],
      ['max_tokens', { model, max_tokens: 5 }],
      ['stream', { model, stream: true }],
      ['an unknown operation', { model, operation: 'video' }],
      ['no model', {}],
      ['a model that is a number', { model: 5 }],
      ['four models', { model, models: [model, 'acme/plain', 'acme/wide', 'beta/chat'] }],
      ['a list', []],
      ['null', null],
      ['a string', '"hi"'],
    ])('%s in a ticket request is 400', async (_, body) => {
      const answer = await mint(body);
      expectError(answer, 400, 'invalid_request');
      expect(answer.text).not.toContain('CONTENT');
    });

    it.each([
      ['acme/nothing', 404, 'model_not_found'],
      ['acme/small:free', 404, 'model_not_found'],
      ['Acme/Small', 404, 'model_not_found'],
    ])('a ticket for %s is %i %s', async (name, status, type) => {
      expectError(await mint({ model: name }), status, type);
    });

    it('a ticket for e2ee is available only for a model that offers it', async () => {
      expectError(await mint({ model, provider: { minimum_privacy: 'e2ee' } }), 403, 'no_provider_route_meets_privacy');
    });

    it('buying a ticket requires an inference key', async () => {
      const url = `${suite.service.controlUrl}/inference/tickets`;
      expectError(await post(url, { model }), 401, 'unauthenticated');
      expectError(await mint({ model }, 'sotto_inf_nonsense'), 401, 'invalid_api_key');
      expectError(await mint({ model }, suite.account.managementKey), 403, 'insufficient_scope');
      // A ticket cannot buy another ticket.
      const ticket = await minted({ model });
      expectError(await post(url, { model }, ticketHeader(ticket)), 401, 'unauthenticated');
      expect((await present(ticket)).status).toBe(200);
    });
  });

  describe('using a ticket', () => {
    it('a valid ticket with a matching body runs the request once, and is then used', async () => {
      const ticket = await minted({ model });
      expect((await present(ticket)).status).toBe(200);
      expectError(await present(ticket), 401, 'invalid_ticket');
      expect(suite.asked).toBe(1);
    });

    it('50 concurrent requests with one ticket: one 200, 49 invalid_ticket, one call to the provider', async () => {
      const ticket = await minted({ model });
      const answers = await Promise.all(Array.from({ length: 50 }, () => present(ticket)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      for (const answer of answers) if (answer.status !== 200) expectError(answer, 401, 'invalid_ticket');
      expect(suite.asked).toBe(1);
    });

    it.each<[string, object, object, string]>([
      ['another model', { model }, { model: 'acme/plain' }, 'ticket_model_mismatch'],
      ['an unknown model', { model }, { model: 'acme/nothing' }, 'ticket_model_mismatch'],
      ['a suffix', { model }, { model: `${model}:floor` }, 'ticket_model_mismatch'],
      ['/auto', { model }, { model: '/auto' }, 'ticket_model_mismatch'],
      ['another policy', { model, provider: 'acme' }, { provider: 'beta' }, 'ticket_provider_policy_mismatch'],
      ['no policy', { model, provider: { sort: 'price' } }, {}, 'ticket_provider_policy_mismatch'],
      ['a policy', { model }, { provider: { only: ['acme'] } }, 'ticket_provider_policy_mismatch'],
      [
        'a weaker floor',
        { model, provider: { minimum_privacy: 'private' } },
        { provider: { minimum_privacy: 'anonymous' } },
        'ticket_provider_policy_mismatch',
      ],
      ['an effort', { model }, { reasoning_effort: 'low' }, 'ticket_reasoning_mismatch'],
    ])('%s is 409 and leaves the ticket valid', async (_, bound, body, type) => {
      const ticket = await minted(bound);
      const refused = await present(ticket, body);
      expectError(refused, 409, type);
      // SDKs retry every 409 by themselves, and the same body fails again.
      expect(refused.headers.get('x-should-retry')).toBe('false');
      expect(suite.asked).toBe(0);
      const answer = await present(ticket, bound);
      expect(answer.status, answer.text).toBe(200);
    });

    it('a ticket binds `models`', async () => {
      const bound = { model, models: [model, 'acme/plain'] };
      const ticket = await minted(bound);
      const answer = await present(ticket, { model, models: [model, 'beta/chat'] });
      expect(answer.status, answer.text).toBe(409);
      expect(suite.asked).toBe(0);
      expect((await present(ticket, bound)).status).toBe(200);
    });

    it('a pin and its long form, with keys in any order, are the same policy', async () => {
      const long = { only: ['acme'], allow_fallbacks: false };
      for (const [bound, body] of [
        ['acme', long],
        [long, 'acme'],
        [
          { only: ['acme'], sort: 'price' },
          { sort: 'price', only: ['acme'] },
        ],
        // A client that writes out the defaults means the same.
        [
          { only: ['acme'] },
          {
            only: ['acme'],
            order: [],
            ignore: [],
            allow_fallbacks: true,
            sort: 'privacy',
            max_attempts: 3,
            require_parameters: false,
          },
        ],
        [{ only: ['acme'], allow_fallbacks: true, max_attempts: 3 }, { only: ['acme'] }],
        ['acme', { ...long, max_attempts: 1 }],
      ]) {
        const answer = await present(await minted({ model, provider: bound }), { provider: body });
        expect(answer.status, answer.text).toBe(200);
      }
    });

    it('an invalid body leaves the ticket valid', async () => {
      const ticket = await minted({ model });
      expectError(await present(ticket, { n: 2 }), 400, 'invalid_request');
      expectError(await present(ticket, { messages: [] }), 400, 'invalid_request');
      expect((await present(ticket)).status).toBe(200);
    });

    it('a used ticket is 401, whatever else is wrong', async () => {
      const ticket = await minted({ model });
      expect((await present(ticket)).status).toBe(200);
      for (const body of [
        { model: 'acme/plain' },
        { model: 'acme/nothing' },
        { provider: 'beta' },
        { provider: { only: ['nobody'] } },
        { reasoning_effort: 'high' },
      ]) {
        expectError(await present(ticket, body), 401, 'invalid_ticket');
      }
      expectError(await present(ticket, { input: 'x' }, '/embeddings'), 401, 'invalid_ticket');
    });

    it.each<[string, HeaderMap]>([
      ['another type', { 'content-type': 'text/plain' }],
      ['the type of another endpoint', { 'content-type': 'application/octet-stream' }],
      ['a compressed body', { 'content-encoding': 'gzip' }],
    ])('%s is 401 with a used ticket, and 415 with a valid one, which stays valid', async (_, headers) => {
      const ticket = await minted({ model });
      const url = `${suite.service.baseUrl}/chat/completions`;
      const mistyped = () =>
        post(url, JSON.stringify({ model, messages: hello }), { ...ticketHeader(ticket), ...headers });
      const refused = await mistyped();
      expectError(refused, 415, 'unsupported_media_type');
      expect(refused.headers.get('x-should-retry')).toBeNull();
      expect((await present(ticket)).status).toBe(200);
      expectError(await mistyped(), 401, 'invalid_ticket');
      expectError(await post(url, 'x', headers), 401, 'ticket_required');
      expectError(await post(url, 'x', { ...bearer('sotto_inf_nonsense'), ...headers }), 401, 'invalid_api_key');
    });

    it.each([
      ['garbage', 'x'],
      ['a key', 'sotto_inf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
      ['a long string', 'A'.repeat(4000)],
      ['no base64', '!!!! ????'],
    ])('%s as a ticket is 401 invalid_ticket', async (_, ticket) => {
      expectError(await present(ticket), 401, 'invalid_ticket');
    });

    it('a ticket with one wrong character is 401 invalid_ticket', async () => {
      const ticket = await minted({ model });
      for (const at of [0, 20, Math.floor(ticket.length / 2), ticket.length - 2]) {
        const changed = ticket.slice(0, at) + (ticket[at] === 'A' ? 'B' : 'A') + ticket.slice(at + 1);
        expectError(await present(changed), 401, 'invalid_ticket');
      }
      expect((await present(ticket)).status).toBe(200);
    });

    it('a ticket for an embedding model works for embeddings', async () => {
      const ticket = await minted({ model: 'acme/embed' });
      const body = { model: 'acme/embed', input: 'hi' };
      expect((await present(ticket, body, '/embeddings')).status).toBe(200);
      expectError(await present(ticket, body, '/embeddings'), 401, 'invalid_ticket');
      const forChat = await present(await minted({ model }), { model, input: 'hi' }, '/embeddings');
      expect(forChat.status).toBeGreaterThanOrEqual(400);
      expect(forChat.status).toBeLessThan(500);
    });

    it('a request without enough balance is 402, and the answer does not reveal the balance', async () => {
      const { service } = suite;
      const poor = await service.createAccount({ usd: 0.00042 });
      const answer = await ask(service, poor.inferenceKey, { model }, { flow: 'ticket' });
      expectError(answer, 402, 'insufficient_balance');
      expectError(await ask(service, poor.inferenceKey, { model }), 402, 'insufficient_balance');
      expect(answer.text).not.toContain('0.00042');
      // A user without balance still sees their rate limits.
      expect(answer.headers.get('x-ratelimit-limit-requests')).toMatch(/^\d+$/);
      expect(answer.headers.get('x-ratelimit-remaining-tokens')).toMatch(/^\d+$/);
      // A request that the remaining balance covers is served.
      const small = await ask(service, poor.inferenceKey, { model, max_tokens: 20 }, { flow: 'ticket' });
      expect(small.status, small.text).toBe(200);
    });
  });
};
