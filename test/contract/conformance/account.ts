import { balanceAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer, flows, hello } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerChat, answerError } from '../../kit/provider.ts';
import { get, post } from '../../kit/send.ts';
import { type TestAccount, until } from '../../kit/service.ts';

/** Tests the balance and the usage rows that an account reads (docs/concepts/holds-and-charges.md). */
export const account: Concept = (suite) => {
  const balanceOf = async ({ managementKey }: TestAccount) =>
    balanceAnswerSchema.parse((await get(`${suite.service.controlUrl}/balance`, bearer(managementKey))).json);
  const usage = (of: TestAccount, query = '') =>
    get(`${suite.service.controlUrl}/usage${query}`, bearer(of.managementKey));
  const usageOf = async (of: TestAccount, query = '') => {
    const answer = await usage(of, query);
    expect(answer.status, answer.text).toBe(200);
    return usagePageSchema.parse(answer.json);
  };

  describe('balance', () => {
    it('the answer has currency, available and reserved', async () => {
      const own = suite.spareAccount();
      expect(await balanceOf(own)).toEqual({ currency: 'USD', available: 10, reserved: 0 });
    });

    it.each(flows)('money is reserved while a request runs, then charged and released (%s)', async (flow) => {
      const own = suite.spareAccount();
      const { promise: held, resolve: finish } = Promise.withResolvers<void>();
      const usual = answerChat();
      suite.provider('acme').answer(async (request, response) => {
        await held;
        return usual(request, response);
      });
      const running = ask(suite.service, own.inferenceKey, { model: 'acme/small' }, { flow });
      await until(() => suite.asked === 1, 'the provider is asked');
      const { available, reserved } = await balanceOf(own);
      // The route may send at least 1000 output tokens, at 1.5 USD per million.
      expect(reserved).toBeGreaterThanOrEqual(0.0015);
      expect(available + reserved).toBeCloseTo(10, 9);
      finish();
      expect((await running).status).toBe(200);
      expect(await suite.service.settled(own)).toBe(10_000_000_000n - 35_000n);
      expect(await balanceOf(own)).toEqual({ currency: 'USD', available: 9.999965, reserved: 0 });
    });

    it('a failed request costs nothing', async () => {
      const own = suite.spareAccount();
      suite.provider('flaky').answer(answerError(500));
      expectError(await ask(suite.service, own.inferenceKey, { model: 'flaky/chat' }), 502, 'provider_error');
      expect(await suite.service.settled(own)).toBe(10_000_000_000n);
    });
  });

  describe('usage', () => {
    let own: TestAccount;
    let secondKey: string;
    const ids: string[] = [];

    beforeAll(async () => {
      const { service } = suite;
      own = suite.spareAccount();
      secondKey = await service.createKey(own);
      const asked: [string, object, string][] = [
        [own.inferenceKey, { model: 'acme/small' }, '/chat/completions'],
        [own.inferenceKey, { model: 'acme/small', stream: true }, '/chat/completions'],
        [secondKey, { model: 'acme/wide' }, '/chat/completions'],
        [secondKey, { model: 'acme/embed', input: 'hi' }, '/embeddings'],
        [own.inferenceKey, { model: '/auto', provider: 'vault' }, '/chat/completions'],
      ];
      for (const [index, [key, body, path]] of asked.entries()) {
        const answer = await ask(service, key, body, { path, flow: index % 2 === 0 ? 'ticket' : 'compatibility' });
        expect(answer.status, answer.text).toBe(200);
        ids.push(/"id":"([^"]+)"/.exec(answer.text)?.[1] ?? 'none');
      }
      await service.settled(own);
      await until(async () => (await usageOf(own)).data.length === asked.length, 'all usage is booked');
    });

    it('a row has the requested model, the serving provider and the cost', async () => {
      const { data, next_cursor } = await usageOf(own);
      expect(next_cursor).toBeNull();
      expect(data).toHaveLength(5);
      expect(data.filter(({ model }) => model === 'acme/small')).toHaveLength(2);
      for (const row of data.filter(({ model }) => model === 'acme/small')) {
        expect(row).toMatchObject({
          workspace_id: own.workspaceId,
          provider: 'acme',
          privacy_class: 'private',
          prompt_tokens: 10,
          cached_tokens: 0,
          completion_tokens: 20,
          reasoning_tokens: 0,
          cost: 0.000035,
          attempts: 1,
          fallback: false,
          status: 'completed',
          estimated: false,
        });
      }
      // The row of a request for `/auto` has the model that Auto chose.
      expect(data.filter(({ model }) => model === 'acme/wide').map(({ provider }) => provider)).toEqual([
        'vault',
        'vault',
      ]);
      expect(data.find(({ model }) => model === 'acme/embed')).toMatchObject({
        prompt_tokens: 4,
        completion_tokens: 0,
      });
      expect(new Set(data.map(({ key_id }) => key_id)).size).toBe(2);
    });

    it('rows have the minute of a request, not the exact time', async () => {
      for (const { at } of (await usageOf(own)).data) {
        expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00(\.000)?Z$/);
        expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(10 * 60_000);
      }
    });

    it('the id of a row differs from the id of the answer', async () => {
      const { text } = await usage(own);
      for (const id of ids) expect(text).not.toContain(id.replace(/^chatcmpl-/, ''));
    });

    it('limit and cursor page through every row once', async () => {
      const all = (await usageOf(own)).data.map(({ id }) => id);
      const paged: string[] = [];
      let cursor: string | null = null;
      do {
        const page: { data: { id: string }[]; next_cursor: string | null } = await usageOf(
          own,
          `?limit=2${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
        );
        expect(page.data.length).toBeLessThanOrEqual(2);
        paged.push(...page.data.map(({ id }) => id));
        cursor = page.next_cursor;
      } while (cursor !== null && paged.length < 20);
      expect(paged).toEqual(all);
    });

    it('model, key_id, workspace_id, from and to filter the rows', async () => {
      const { data } = await usageOf(own);
      expect((await usageOf(own, '?model=acme/wide')).data.map(({ model }) => model)).toEqual([
        'acme/wide',
        'acme/wide',
      ]);
      const keyId = data.find(({ model }) => model === 'acme/embed')?.key_id;
      const ofKey = (await usageOf(own, `?key_id=${keyId}`)).data;
      expect(ofKey.map(({ model }) => model).sort()).toEqual(['acme/embed', 'acme/wide']);
      expect((await usageOf(own, `?workspace_id=${own.workspaceId}`)).data).toHaveLength(5);
      expect((await usageOf(own, `?workspace_id=${suite.account.workspaceId}`)).data).toEqual([]);
      const around = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
      expect((await usageOf(own, `?from=${around(-15)}&to=${around(5)}`)).data).toHaveLength(5);
      expect((await usageOf(own, `?from=${around(5)}`)).data).toEqual([]);
      expect((await usageOf(own, `?to=${around(-15)}`)).data).toEqual([]);
    });

    it('a cursor works together with filters', async () => {
      const first = await usageOf(own, '?model=acme/small&limit=1');
      const second = await usageOf(
        own,
        `?model=acme/small&limit=1&cursor=${encodeURIComponent(first.next_cursor ?? '')}`,
      );
      expect([first, second].flatMap(({ data }) => data.map(({ model }) => model))).toEqual([
        'acme/small',
        'acme/small',
      ]);
      expect(first.data[0]?.id).not.toBe(second.data[0]?.id);
    });

    it.each([
      'limit=0',
      'limit=501',
      'limit=-1',
      'limit=x',
      'limit=1.5',
      'cursor=x',
      'cursor=%00',
      'cursor=AAAA',
      'from=yesterday',
      'to=99999999999999999',
      'key_id=x',
      'key_id=%00',
      'workspace_id=x',
      'limit=1&limit=2',
      'bogus=1',
    ])('?%s is 400 invalid_request', async (query) => {
      expectError(await usage(own, `?${query}`), 400, 'invalid_request');
    });

    it.each(['model=%00', 'model=a%00b'])('?%s does not cause a 500', async (query) => {
      const { status, text } = await usage(own, `?${query}`);
      expect([200, 400], text).toContain(status);
    });

    it('a limit of 500 is allowed', async () => {
      expect((await usageOf(own, '?limit=500')).data).toHaveLength(5);
    });

    it('one account never sees the usage of another account', async () => {
      const stranger = suite.spareAccount();
      expect((await usageOf(stranger)).data).toEqual([]);
      const [row] = (await usageOf(own)).data;
      expect((await usageOf(stranger, `?key_id=${row?.key_id}`)).data).toEqual([]);
      expect((await usageOf(stranger, `?workspace_id=${own.workspaceId}`)).data).toEqual([]);
      const page = await usageOf(own, '?limit=1');
      const stolen = await usage(stranger, `?cursor=${encodeURIComponent(page.next_cursor ?? '')}`);
      if (stolen.status === 200) expect(usagePageSchema.parse(stolen.json).data).toEqual([]);
      else expectError(stolen, 400, 'invalid_request');
    });

    it('with `models`, the row has the model that served', async () => {
      suite.provider('flaky').answer(answerError(503));
      const other = suite.spareAccount();
      const answer = await post(
        `${suite.service.baseUrl}/chat/completions`,
        { model: 'flaky/chat', models: ['flaky/chat', 'acme/small'], messages: hello },
        bearer(other.inferenceKey),
      );
      expect(answer.status, answer.text).toBe(200);
      await suite.service.settled(other);
      await until(async () => (await usageOf(other)).data.length === 1, 'the usage is booked');
      expect((await usageOf(other)).data).toMatchObject([
        { model: 'acme/small', provider: 'acme', attempts: 2, fallback: true, cost: 0.000035 },
      ]);
    });
  });
};
