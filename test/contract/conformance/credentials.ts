import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { ask, bearer, hello, ticketHeader } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, type HeaderMap, post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

const model = 'acme/small';
const bodies = { '/chat/completions': { model, messages: hello }, '/embeddings': { model: 'acme/embed', input: 'hi' } };
type InferencePath = keyof typeof bodies;
const paths = Object.keys(bodies) as InferencePath[];

/** Tests which credential gives access to which routes, on both origins. */
export const credentials: Concept = (suite) => {
  const infer = (path: InferencePath, headers: HeaderMap): Promise<Answer> =>
    post(`${suite.service.baseUrl}${path}`, bodies[path], headers);

  let ticketsOnly: string;
  let limited: string;

  beforeAll(async () => {
    const { service, account } = suite;
    [ticketsOnly, limited] = await Promise.all([
      service.createKey(account, { openaiCompatible: false }),
      service.createKey(account, { limitUsd: 0.00008 }),
    ]);
  });

  describe.each(paths)('credentials on the broker, %s', (path) => {
    it('a request without a credential is 401 ticket_required', async () => {
      const missing = await infer(path, {});
      expectError(missing, 401, 'ticket_required');
      expect(missing.text).toContain('If you set the header, the ticket was empty');
      const empty = await infer(path, ticketHeader(''));
      expectError(empty, 401, 'ticket_required');
      expect(empty.text).toContain('The ticket is empty: the request for it failed. Run it alone to see why.');
    });

    it.each(['authorization', 'api-key', 'x-api-key'])('a bare key in `%s` is told where it belongs', async (name) => {
      const answer = await infer(path, { [name]: suite.account.inferenceKey });
      expectError(answer, 401, 'ticket_required');
      expect(answer.error?.message).toContain('authorization: Bearer KEY');
      expect(answer.text).not.toContain(suite.account.inferenceKey);
      const balance = await get(`${suite.service.controlUrl}/balance`, { [name]: suite.account.managementKey });
      expectError(balance, 401, 'unauthenticated');
      expect(balance.error?.message).toContain('authorization: Bearer KEY');
    });

    it.each(['sotto_inf_nonsense', 'sk-from-elsewhere', 'x', 'A'.repeat(3000)])(
      'a bearer that is not an inference key is 401 invalid_api_key',
      async (key) => {
        const answer = await infer(path, bearer(key));
        expectError(answer, 401, 'invalid_api_key');
        if (key.length > 1) expect(answer.text).not.toContain(key.slice(0, 200));
      },
    );

    it('a key with one wrong character is 401 invalid_api_key', async () => {
      const { inferenceKey } = suite.account;
      const changed = inferenceKey.slice(0, -1) + (inferenceKey.endsWith('A') ? 'B' : 'A');
      expectError(await infer(path, bearer(changed)), 401, 'invalid_api_key');
      expectError(await infer(path, bearer(inferenceKey.toLowerCase())), 401, 'invalid_api_key');
    });

    it('a management key is 403 insufficient_scope', async () => {
      expectError(await infer(path, bearer(suite.account.managementKey)), 403, 'insufficient_scope');
    });

    it('a key without compatibility access is 403 on the broker, but can buy tickets', async () => {
      expectError(await infer(path, bearer(ticketsOnly)), 403, 'compatibility_access_disabled');
      expect(suite.asked).toBe(0);
      const answer = await ask(suite.service, ticketsOnly, bodies[path], { flow: 'ticket', path });
      expect(answer.status, answer.text).toBe(200);
    });

    it.each(['{"model":', '[]', '{"model":5}'])(
      'a key without the right learns nothing about its body %s',
      async (body) => {
        const raw = (key: string): Promise<Answer> => post(`${suite.service.baseUrl}${path}`, body, bearer(key));
        expectError(await raw(suite.account.managementKey), 403, 'insufficient_scope');
        expectError(await raw(ticketsOnly), 403, 'compatibility_access_disabled');
        expectError(await raw(suite.account.inferenceKey), 400, 'invalid_request');
      },
    );

    it('a request with both a ticket and a bearer uses compatibility mode, and the ticket stays unused', async () => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: bodies[path].model });
      const both = await infer(path, { ...bearer(account.inferenceKey), ...ticketHeader(ticket) });
      expect(both.status, both.text).toBe(200);
      expectError(await infer(path, { ...bearer('bad'), ...ticketHeader(ticket) }), 401, 'invalid_api_key');
      expectError(
        await infer(path, { ...bearer(account.managementKey), ...ticketHeader(ticket) }),
        403,
        'insufficient_scope',
      );
      expect((await infer(path, ticketHeader(ticket))).status).toBe(200);
    });

    it('beside a bad ticket, the bearer alone decides', async () => {
      const badTicket = ticketHeader('garbage');
      const answer = await infer(path, { ...bearer(suite.account.inferenceKey), ...badTicket });
      expect(answer.status, answer.text).toBe(200);
      expectError(await infer(path, { ...bearer('bad'), ...badTicket }), 401, 'invalid_api_key');
    });

    it.each([
      ['Bearer', 'invalid_api_key'],
      ['Bearer ', 'invalid_api_key'],
      ['Basic eDp5', 'ticket_required'],
      ['Bearers x', 'ticket_required'],
    ])(
      'a ticket beside `authorization: %s`, which is not a bearer token, uses the private ticket flow',
      async (authorization, alone) => {
        const { service, account } = suite;
        const { ticket } = await service.mintTicket(account.inferenceKey, { model: bodies[path].model });
        const answer = await infer(path, { authorization, ...ticketHeader(ticket) });
        expect(answer.status, answer.text).toBe(200);
        expectError(await infer(path, { authorization }), 401, alone);
      },
    );

    it('a ticket is not a bearer, and a request that presents it as one does not use it', async () => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: bodies[path].model });
      expectError(await infer(path, bearer(ticket)), 401, 'invalid_api_key');
      expect((await infer(path, ticketHeader(ticket))).status).toBe(200);
    });

    it('the name of the scheme is case-insensitive', async () => {
      const { inferenceKey } = suite.account;
      expect((await infer(path, { authorization: `bearer ${inferenceKey}` })).status).toBe(200);
      const basic = await infer(path, {
        authorization: `Basic ${Buffer.from(`x:${inferenceKey}`).toString('base64')}`,
      });
      expect(basic.status).toBe(401);
    });
  });

  describe('keys', () => {
    it('keys begin with sotto_inf_ or sotto_mgt_', () => {
      expect(suite.account.inferenceKey).toMatch(/^sotto_inf_[A-Za-z0-9_-]{43,}$/);
      expect(suite.account.managementKey).toMatch(/^sotto_mgt_[A-Za-z0-9_-]{43,}$/);
    });

    it('GET /models on the API origin: 404 without a credential, 401 with a bad key, else the list', async () => {
      const url = `${suite.service.baseUrl}/models`;
      expectError(await get(url), 404, 'not_found');
      expectError(await get(url, { authorization: 'Basic eDp5' }), 404, 'not_found');
      expectError(await get(url, bearer('sotto_inf_nonsense')), 401, 'invalid_api_key');
      for (const key of [suite.account.inferenceKey, suite.account.managementKey]) {
        const listed = await get(url, bearer(key));
        expect(listed.status, listed.text).toBe(200);
        expect(listed.headers.get('cache-control')).toContain('no-store');
      }
      expectError(await get(url, bearer(ticketsOnly)), 403, 'compatibility_access_disabled');
    });

    it('GET /models on control accepts both kinds of key, and requires one', async () => {
      const url = `${suite.service.controlUrl}/models`;
      for (const key of [suite.account.inferenceKey, suite.account.managementKey]) {
        const answer = await get(url, bearer(key));
        expect(answer.status, answer.text).toBe(200);
        expect(answer.headers.get('cache-control')).toContain('no-store');
      }
      expectError(await get(url), 401, 'unauthenticated');
      expectError(await get(url, bearer('sotto_mgt_nonsense')), 401, 'invalid_api_key');
    });

    it.each(['/balance', '/usage', '/usage/daily', '/usage/refusals'])(
      '%s accepts a management key and no other key or ticket',
      async (path) => {
        const { service, account } = suite;
        const url = `${service.controlUrl}${path}`;
        const answer = await get(url, bearer(account.managementKey));
        expect(answer.status, answer.text).toBe(200);
        expect(answer.headers.get('cache-control')).toContain('no-store');
        expectError(await get(url), 401, 'unauthenticated');
        expectError(await get(url, bearer('sotto_mgt_nonsense')), 401, 'invalid_api_key');
        expectError(await get(url, bearer(account.inferenceKey)), 403, 'insufficient_scope');
        const { ticket } = await service.mintTicket(account.inferenceKey, { model });
        expectError(await get(url, ticketHeader(ticket)), 401, 'unauthenticated');
      },
    );

    it('the credit limit of a key bounds its spending', async () => {
      const { service, account } = suite;
      // One request costs about 0.00007 USD at most: a prompt, and 20 output tokens at 1.5 USD per million.
      const statuses: number[] = [];
      for (let asked = 0; asked < 6; asked++) {
        statuses.push((await ask(service, limited, { model, max_tokens: 20 })).status);
        await service.settled(account);
      }
      expect(statuses[0]).toBe(200);
      expect(statuses.at(-1)).toBe(402);
      // The limit belongs to the key, not to the account.
      expect((await ask(service, account.inferenceKey, { model })).status).toBe(200);
    });

    it('the idempotency key of a client has no effect', async () => {
      const headers = { ...bearer(suite.account.inferenceKey), 'idempotency-key': 'once' };
      const first = await infer('/chat/completions', headers);
      const second = await infer('/chat/completions', headers);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect((first.json as { id: string }).id).not.toBe((second.json as { id: string }).id);
      await until(() => suite.asked === 2, 'both were asked');
    });
  });
};
