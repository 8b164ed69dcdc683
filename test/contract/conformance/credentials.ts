import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../kit/service.ts';
import { type Answer, ask, bearer, expectError, get, type HeaderMap, hello, post, ticketHeader } from './client.ts';
import type { Concept } from './suite.ts';

const model = 'acme/small';
const bodies = { '/chat/completions': { model, messages: hello }, '/embeddings': { model: 'acme/embed', input: 'hi' } };
type InferencePath = keyof typeof bodies;
const paths = Object.keys(bodies) as InferencePath[];

/** Interface 1, 5 and design 6: which credential opens what, on both origins. */
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
    it('interface 7: none is 401 ticket_required', async () => {
      expectError(await infer(path, {}), 401, 'ticket_required');
    });

    it.each(['sotto_inf_nonsense', 'sk-from-elsewhere', 'x', 'A'.repeat(3000)])(
      'design 6: a bearer that is no inference key is 401 invalid_api_key',
      async (key) => {
        const answer = await infer(path, bearer(key));
        expectError(answer, 401, 'invalid_api_key');
        if (key.length > 1) expect(answer.text).not.toContain(key.slice(0, 200));
      },
    );

    it('design 6: a key of which one character differs is 401 invalid_api_key', async () => {
      const { inferenceKey } = suite.account;
      const changed = inferenceKey.slice(0, -1) + (inferenceKey.endsWith('A') ? 'B' : 'A');
      expectError(await infer(path, bearer(changed)), 401, 'invalid_api_key');
      expectError(await infer(path, bearer(inferenceKey.toLowerCase())), 401, 'invalid_api_key');
    });

    it('design 6: a management key is 403 insufficient_scope', async () => {
      expectError(await infer(path, bearer(suite.account.managementKey)), 403, 'insufficient_scope');
    });

    it('interface 5: a key without compatibility access is 403 there, and good for tickets', async () => {
      expectError(await infer(path, bearer(ticketsOnly)), 403, 'compatibility_access_disabled');
      expect(suite.asked).toBe(0);
      const answer = await ask(suite.service, ticketsOnly, bodies[path], { flow: 'ticket', path });
      expect(answer.status, answer.text).toBe(200);
    });

    it('design 6: with both a ticket and a bearer it is compatibility mode, and the ticket stays unused', async () => {
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

    it('design 6: a bearer, however bad, beside a ticket that is bad too is judged as a bearer', async () => {
      const answer = await infer(path, { ...bearer(suite.account.inferenceKey), ...ticketHeader('garbage') });
      expect(answer.status, answer.text).toBe(200);
    });

    it.each([
      ['Bearer', 'invalid_api_key'],
      ['Bearer ', 'invalid_api_key'],
      ['Basic eDp5', 'ticket_required'],
      ['Bearers x', 'ticket_required'],
    ])(
      'interface 1: a ticket beside `authorization: %s`, which is no bearer token, is the private ticket flow',
      async (authorization, alone) => {
        const { service, account } = suite;
        const { ticket } = await service.mintTicket(account.inferenceKey, { model: bodies[path].model });
        const answer = await infer(path, { authorization, ...ticketHeader(ticket) });
        expect(answer.status, answer.text).toBe(200);
        expectError(await infer(path, { authorization }), 401, alone);
      },
    );

    it('interface 5: a ticket is no bearer, and presenting it as one does not use it', async () => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: bodies[path].model });
      expectError(await infer(path, bearer(ticket)), 401, 'invalid_api_key');
      expect((await infer(path, ticketHeader(ticket))).status).toBe(200);
    });

    it('interface 5: the scheme is named in any case', async () => {
      const { inferenceKey } = suite.account;
      expect((await infer(path, { authorization: `bearer ${inferenceKey}` })).status).toBe(200);
      const basic = await infer(path, {
        authorization: `Basic ${Buffer.from(`x:${inferenceKey}`).toString('base64')}`,
      });
      expect(basic.status).toBe(401);
    });
  });

  describe('keys', () => {
    it('design 6: keys are sotto_inf_… and sotto_mgt_…', () => {
      expect(suite.account.inferenceKey).toMatch(/^sotto_inf_[A-Za-z0-9_-]{43,}$/);
      expect(suite.account.managementKey).toMatch(/^sotto_mgt_[A-Za-z0-9_-]{43,}$/);
    });

    it('interface 1: GET /models on the API origin: 404 without a credential, 401 with a bad key, else the list', async () => {
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

    it('interface 5: GET /models on control takes either kind of key, and needs one', async () => {
      const url = `${suite.service.controlUrl}/models`;
      for (const key of [suite.account.inferenceKey, suite.account.managementKey]) {
        const answer = await get(url, bearer(key));
        expect(answer.status, answer.text).toBe(200);
        expect(answer.headers.get('cache-control')).toContain('no-store');
      }
      expectError(await get(url), 401, 'unauthenticated');
      expectError(await get(url, bearer('sotto_mgt_nonsense')), 401, 'invalid_api_key');
    });

    it.each(['/balance', '/usage', '/usage/daily'])(
      'interface 5: %s takes a management key, and no other credential of machines',
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

    it("interface 5: a key's credit limit bounds what it spends", async () => {
      const { service, account } = suite;
      // 20 tokens out at 1.5 USD per million, and a prompt: about 0.00007 at most.
      const statuses: number[] = [];
      for (let asked = 0; asked < 6; asked++) {
        statuses.push((await ask(service, limited, { model, max_tokens: 20 })).status);
        await service.settled(account);
      }
      expect(statuses[0]).toBe(200);
      expect(statuses.at(-1)).toBe(402);
      // The limit is the key's, not the account's.
      expect((await ask(service, account.inferenceKey, { model })).status).toBe(200);
    });

    it('interface 1: an idempotency key of a client changes nothing', async () => {
      const headers = { ...bearer(suite.account.inferenceKey), 'idempotency-key': 'once' };
      const first = await infer('/chat/completions', headers);
      const second = await infer('/chat/completions', headers);
      expect([first.status, second.status]).toEqual([200, 200]);
      expect((first.json as { id: string }).id).not.toBe((second.json as { id: string }).id);
      await until(() => suite.asked === 2, 'both were asked');
    });
  });
};
