import {
  capabilitiesAnswerSchema,
  measurementsAnswerSchema,
  uptimeAnswerSchema,
} from '@sotto/contract/control/catalog';
import { modelListAnswerSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { allOf } from '../../kit/answer.ts';
import { ask, bearer, redeem, ticketHeader } from '../../kit/client.ts';
import { type Concept, modelIds, upstreamModels } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

/** Tests the public information about models, routes, media and health. */
export const catalog: Concept = (suite) => {
  const origins = ['controlUrl', 'baseUrl'] as const;
  const listOf = async (origin: (typeof origins)[number]) => {
    const answer = await get(`${suite.service[origin]}/models`, bearer(suite.account.inferenceKey));
    expect(answer.status, answer.text).toBe(200);
    return modelListAnswerSchema.parse(answer.json).data;
  };

  describe.each(origins)('GET /models on %s', (origin) => {
    it('lists every model of the catalog, and /auto as a text model without routes', async () => {
      const list = await listOf(origin);
      const ids = list.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(expect.arrayContaining(['/auto', ...modelIds.filter((id) => !/paint|voice/.test(id))]));
      expect(list.find(({ id }) => id === '/auto')).toMatchObject({ model_type: 'text', provider_routes: [] });
      for (const id of ids) expect(id).toMatch(/^(\/auto|[^/]+\/[^/]+)$/);
    });

    it('an entry lists its routes, and its top-level fields are those of the route that Auto would pick', async () => {
      const wide = (await listOf(origin)).find(({ id }) => id === 'acme/wide');
      expect(wide).toMatchObject({
        object: 'model',
        name: 'Name of acme/wide',
        model_type: 'text',
        context_length: 8000,
        max_output_tokens: 1000,
        auto_provider: 'vault',
        privacy_class: 'tee',
        pricing: { input: 3, output: 6 },
      });
      const routes = wide?.provider_routes ?? [];
      expect(Object.fromEntries(routes.map(({ provider, ...rest }) => [provider, rest]))).toMatchObject({
        vault: { privacy_class: 'tee', pricing: { input: 3, output: 6 } },
        acme: { privacy_class: 'private', pricing: { input: 2, output: 4 } },
        beta: { privacy_class: 'anonymous', pricing: { input: 1, output: 2 } },
      });
      expect(routes).toHaveLength(3);
    });

    it('capabilities are those of the route, and an absent capability is not offered', async () => {
      const list = await listOf(origin);
      const capabilitiesOf = (model: string) => list.find(({ id }) => id === model)?.capabilities;
      const reasoning = { efforts: ['low', 'medium', 'high'], can_disable: true };
      expect(capabilitiesOf('acme/thinker')).toEqual({
        tools: true,
        vision: false,
        structured_output: true,
        reasoning,
      });
      expect(capabilitiesOf('acme/plain')).toEqual({
        tools: false,
        vision: false,
        structured_output: false,
        reasoning: null,
      });
    });

    it('the list distinguishes the kinds of model', async () => {
      const types = new Map((await listOf(origin)).map(({ id, model_type }) => [id, model_type]));
      expect(types.get('acme/small')).toBe('text');
      expect(types.get('acme/embed')).toBe('embedding');
      if (types.has('beta/paint')) expect(types.get('beta/paint')).toBe('image');
      if (types.has('beta/voice')) expect(types.get('beta/voice')).toBe('tts');
    });

    it('the list hides the model names that providers use', async () => {
      const answer = await get(`${suite.service[origin]}/models`, bearer(suite.account.inferenceKey));
      for (const mark of upstreamModels) expect(allOf(answer)).not.toContain(mark);
      expect(answer.text).not.toContain('127.0.0.1');
    });
  });

  describe('public reads', () => {
    it('/catalog/models needs no credential, can be cached and shows the privacy class of each route', async () => {
      const answer = await get(`${suite.service.controlUrl}/catalog/models`);
      expect(answer.status, answer.text).toBe(200);
      expect(answer.headers.get('cache-control')).toMatch(/max-age=\d+/);
      expect(answer.headers.get('cache-control')).not.toMatch(/no-store|private/);
      expect(answer.headers.getSetCookie()).toEqual([]);
      const { data } = answer.json as { data: { id: string; provider_routes: { privacy_class: string }[] }[] };
      const wide = data.find(({ id }) => id === 'acme/wide');
      expect(wide?.provider_routes.map(({ privacy_class }) => privacy_class).sort()).toEqual([
        'anonymous',
        'private',
        'tee',
      ]);
      for (const mark of [...upstreamModels, '127.0.0.1']) expect(answer.text).not.toContain(mark);
    });

    it('/capabilities reports disabled features', async () => {
      const answer = await get(`${suite.service.controlUrl}/capabilities`);
      expect(capabilitiesAnswerSchema.parse(answer.json)).toEqual({
        image_generation: { enabled: false },
        speech_synthesis: { enabled: false },
        connected_apps: { enabled: false },
        anonymous_wallets: { enabled: false },
        separate_processes: { enabled: suite.service.redisUrl !== undefined },
      });
    });

    it.each(['/models/uptime', '/models/uptime?model='])('%s is 400 missing_model', async (path) => {
      expectError(await get(`${suite.service.controlUrl}${path}`), 400, 'missing_model');
    });

    it.each(['acme/nothing', 'Acme/Small', '%00', '__proto__', 'x'.repeat(2000)])(
      'uptime of %j is a clear 4xx',
      async (model) => {
        const answer = await get(`${suite.service.controlUrl}/models/uptime?model=${model}`);
        expect(['model_not_found', 'invalid_request']).toContain(
          (answer.json as { error?: { type?: string } }).error?.type,
        );
      },
    );

    it('uptime lists every route, with null where fewer than 20 requests were measured', async () => {
      const answer = await get(`${suite.service.controlUrl}/models/uptime?model=acme/regional`);
      const { model, routes } = uptimeAnswerSchema.parse(answer.json);
      expect(model).toBe('acme/regional');
      expect(routes.map(({ provider, privacy_class }) => [provider, privacy_class]).sort()).toEqual([
        ['acme/eu', 'private'],
        ['beta', 'anonymous'],
      ]);
      for (const { requests, success_rate, ttft_ms, throughput_tps } of routes) {
        if (requests === null) expect([success_rate, ttft_ms, throughput_tps]).toEqual([null, null, null]);
        else expect(requests).toBeGreaterThanOrEqual(20);
      }
      expect(answer.headers.get('x-router-provider')).toBeNull();
    });

    it('uptime shows success and latency after 20 requests', async () => {
      const { service, account } = suite;
      const url = `${service.controlUrl}/models/uptime?model=acme/measured`;
      await Promise.all(
        Array.from({ length: 24 }, async () => {
          const answer = await ask(service, account.inferenceKey, { model: 'acme/measured', stream: true });
          expect(answer.status, answer.text).toBe(200);
        }),
      );
      const measured = async () => uptimeAnswerSchema.parse((await get(url)).json).routes[0];
      await until(async () => ((await measured())?.requests ?? 0) >= 24, 'they are measured');
      const route = await measured();
      expect(route).toMatchObject({ provider: 'acme', window_hours: 24, success_rate: 1 });
      const { p50 = -1, p90 = -1, p99 = -1 } = route?.ttft_ms ?? {};
      expect(p50).toBeGreaterThan(0);
      expect(p90).toBeGreaterThanOrEqual(p50);
      expect(p99).toBeGreaterThanOrEqual(p90);
      const counted = route?.series.flatMap(({ requests }) => requests ?? []) ?? [];
      for (const requests of counted) expect(requests).toBeGreaterThanOrEqual(20);
      const listed = async () => {
        const { data } = measurementsAnswerSchema.parse((await get(`${service.controlUrl}/catalog/measurements`)).json);
        return data.find(({ model }) => model === 'acme/measured');
      };
      await until(async () => (await listed()) !== undefined, 'it is among those of all models');
      expect((await listed())?.routes).toMatchObject([{ provider: 'acme', success_rate: 1, window_hours: 24 }]);
    });

    it('/healthz and /readyz answer on both origins, without /v1', async () => {
      for (const origin of origins) {
        const { origin: base } = new URL(suite.service[origin]);
        for (const path of ['/healthz', '/readyz']) expect((await get(base + path)).status).toBe(200);
      }
    });
  });

  describe('disabled media', () => {
    const media = ['/images/generations', '/audio/speech'] as const;
    const body = { model: 'beta/paint', prompt: 'a cat', input: 'hello' };

    it.each(media)('%s is 503 media_disabled before any credential is checked', async (path) => {
      const { service, account } = suite;
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'acme/small' });
      for (const headers of [{}, ticketHeader('garbage'), ticketHeader(ticket), bearer(account.inferenceKey)]) {
        expectError(await post(`${service.baseUrl}${path}`, body, headers), 503, 'media_disabled');
      }
      // Without this header, SDKs would retry every 503. A retry cannot help, because media stays disabled.
      const answer = await send('POST', `${service.baseUrl}${path}`, { body });
      expect(answer.headers.get('x-should-retry')).toBe('false');
      const used = await redeem(service, ticket, { model: 'acme/small' });
      expect(used.status, used.text).toBe(200);
    });

    it.each([
      { model: 'beta/paint', operation: 'image', size: '1024x1024', response_format: 'b64_json' },
      { model: 'beta/voice', operation: 'speech', input_chars: 5, response_format: 'mp3' },
    ])('a ticket for it is rejected in the same way: $operation', async (request) => {
      const { controlUrl } = suite.service;
      const answer = await post(`${controlUrl}/inference/tickets`, request, bearer(suite.account.inferenceKey));
      expectError(answer, 503, 'media_disabled');
    });
  });
};
