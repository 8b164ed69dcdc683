import { setTimeout as sleep } from 'node:timers/promises';
import { type UptimeAnswer, uptimeAnswerSchema } from '@sotto/contract/control/catalog';
import { createRedisState } from '@sotto/state';
import { withRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../kit/client.ts';
import { expectError } from '../kit/expect-error.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../kit/own-broker.ts';
import { answerChat, answerError, answerNothing, type ProviderHandler, sendJson } from '../kit/provider.ts';
import { get } from '../kit/send.ts';
import { type TestAccount, until } from '../kit/service.ts';
import { describeStage } from '../kit/stage/describe-stage.ts';

const secrets = sharedSecrets();
/** One model for each row, so that no row sees the measurements of another. */
const rows = 25;
const oldModel = 'm/old';
const hourMs = 3_600_000;

/** Alpha's answers, by its own name of the model. */
const handlers = new Map<unknown, ProviderHandler>();
/** The tests move the brokers' clock. Control has the real one. */
const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };

/** Writes the measurements of brokers that have stopped. Two of them are more than a day old. */
async function shareOld(url: string): Promise<void> {
  const state = createRedisState({ url });
  const hour = Math.floor(Date.now() / hourMs);
  for (const back of [30, 25, 22, 5, 0]) {
    const requests = back > 23 ? 1000 : 10 + back;
    const records = new Map([[`${oldModel}@alpha`, `${requests};${requests};;;;`]]);
    const share = () => state.shareMeasurements({ hour: hour - back, source: `broker-${back}`, records });
    await until(async () => share().then(() => true), 'the state is reachable');
  }
  await state.close();
}

await describeStage(
  'measurements of two brokers on one Redis',
  async ({ redisUrl }) => {
    await shareOld(redisUrl);
    const row = (_: unknown, at: number) =>
      [`m/row-${at}`, { routes: { alpha: { upstream: `m/row-${at}`, pricing: [1, 1] } } }] as const;
    return {
      providers: {
        alpha: {
          answers: (request, response) => (handlers.get(request.body.model) ?? answerChat())(request, response),
        },
        beta: {},
      },
      models: {
        ...Object.fromEntries(Array.from({ length: rows }, row)),
        [oldModel]: { routes: { alpha: [1, 1] } },
        'm/embed': { type: 'embedding', context_length: 8000, routes: { alpha: { pricing: { input: 1 } } } },
        'm/both': { routes: { alpha: { upstream: 'slow', pricing: [1, 1] }, beta: [2, 2] } },
      },
      environment: secrets,
    };
  },
  (stage) => {
    let account: TestAccount;
    const brokers: OwnBroker[] = [];
    beforeAll(async () => {
      account = await stage.service.createAccount({ usd: 1000 });
      const redisUrl = stage.service.redisUrl ?? '';
      for (const _ of ['first', 'second']) {
        brokers.push(await startOwnBroker({ redisUrl, registry: stage.files.registry, secrets, now: clock.now }));
      }
    });
    afterAll(async () => {
      for (const broker of brokers) await broker.stop();
    });

    const baseUrlOf = (at: number): string => brokers[at]?.baseUrl ?? '';

    interface Asking {
      readonly at?: number;
      readonly baseUrl?: string;
      readonly path?: string;
      readonly signal?: AbortSignal;
    }

    /** Sends a request and reads its answer, whatever the status. */
    async function ask(model: string, body: object = {}, { at = 0, baseUrl, path, signal }: Asking = {}) {
      const answer = await fetch(`${baseUrl ?? baseUrlOf(at)}${path ?? '/chat/completions'}`, {
        method: 'POST',
        headers: { ...bearer(account.inferenceKey), 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'CANARY-CONTENT' }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      });
      await answer.text().catch(() => undefined);
      return answer;
    }

    const times = async (count: number, act: (index: number) => Promise<unknown>): Promise<void> => {
      for (let index = 0; index < count; index += 1) await act(index);
    };

    async function routesOf(model: string): Promise<UptimeAnswer['routes']> {
      return uptimeAnswerSchema.parse((await get(`${stage.service.controlUrl}/models/uptime?model=${model}`)).json)
        .routes;
    }

    /** The uptime that control reports for the only route of a model, once exactly this many requests were measured. */
    async function measured(model: string, requests: number): Promise<UptimeAnswer['routes'][number]> {
      await until(async () => ((await routesOf(model))[0]?.requests ?? 0) >= requests, `${model} has ${requests}`);
      const [route] = await routesOf(model);
      if (route === undefined) throw new Error('no route');
      expect(route.requests).toBe(requests);
      return route;
    }

    let usedRows = 0;
    const nextModel = (): string => `m/row-${usedRows++}`;
    const broken: ProviderHandler = (_request, response) => void response.socket?.resetAndDestroy();
    const breaksOff: ProviderHandler = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { choices: [{ index: 0, delta: { content: 'a piece' }, finish_reason: null }] };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      await sleep(20);
      response.socket?.resetAndDestroy();
    };
    const flowing = answerChat({ pieces: Array.from({ length: 20 }, () => 'piece '), pieceMs: 3 });

    const takenFor = async (model: string, handler: ProviderHandler, count: number, body?: object): Promise<void> => {
      handlers.set(model, handler);
      await times(count, () => ask(model, body));
    };

    describe.concurrent('measurements (docs/reference/measurements.md), through the front door', () => {
      it('success: streams, with time to first token and speed; the attempts of two brokers add up', async () => {
        const model = nextModel();
        handlers.set(model, flowing);
        await times(20, (index) => ask(model, { stream: true }, { at: index % 2 }));
        const route = await measured(model, 20);
        expect(route).toMatchObject({ provider: 'alpha', success_rate: 1, window_hours: 24 });
        expect(route.ttft_ms?.p50).toBeGreaterThan(0);
        expect(route.ttft_ms?.p99).toBeGreaterThanOrEqual(route.ttft_ms?.p50 ?? 0);
        // 20 tokens in at least 60 ms.
        expect(route.throughput_tps?.p50).toBeGreaterThanOrEqual(1);
        expect(route.throughput_tps?.p50).toBeLessThan(360);
        // None at the end of an hour, when both hours had too few.
        expect([[20], []]).toContainEqual(route.series.flatMap(({ requests }) => requests ?? []));
      });

      it('success: whole answers, which have no first token and no speed', async () => {
        const model = nextModel();
        await takenFor(model, answerChat(), 20);
        expect(await measured(model, 20)).toMatchObject({ success_rate: 1, ttft_ms: null, throughput_tps: null });
      });

      it('success: vectors, with the time to their answer', async () => {
        await times(20, () => ask('m/embed', { input: 'hello' }, { path: '/embeddings' }));
        const route = await measured('m/embed', 20);
        expect(route).toMatchObject({ success_rate: 1, throughput_tps: null });
        expect(route.ttft_ms?.p50).toBeGreaterThan(0);
      });

      it.for<[string, ProviderHandler, object]>([
        ['429', answerError(429), {}],
        ['500', answerError(500), {}],
        ['401', answerError(401), {}],
        ['402', answerError(402), {}],
        ['404', answerError(404), {}],
        ['a broken connection', broken, {}],
        ['a malformed answer', (_request, response) => sendJson(response, 200, 'nonsense'), {}],
        ['a stream that the provider breaks off', breaksOff, { stream: true }],
      ])('failure: %s', async ([, answer, body]) => {
        const model = nextModel();
        await takenFor(model, answer, 15, body);
        await takenFor(model, answerChat(), 5);
        expect(await measured(model, 20)).toMatchObject({ success_rate: 0.25 });
      });

      it.for([400, 403, 409, 413, 422])('not counted: the caller’s own %i', async (status) => {
        const model = nextModel();
        await takenFor(model, answerError(status), 3);
        await takenFor(model, answerChat(), 20);
        await measured(model, 20);
      });

      it.for<[string, ProviderHandler]>([
        ['before there is output', answerNothing],
        ['in the middle of a stream', answerChat({ pieces: Array.from({ length: 500 }, () => 'piece '), pieceMs: 10 })],
      ])('not counted: a client that leaves %s', async ([, answer]) => {
        const model = nextModel();
        await times(3, async () => {
          const left = new AbortController();
          let closed: Promise<void> | undefined;
          handlers.set(model, (request, response) => {
            closed = request.closed;
            return answer(request, response);
          });
          const asked = ask(model, { stream: true }, { signal: left.signal }).catch(() => undefined);
          await until(() => closed !== undefined, 'the provider was asked');
          await sleep(50);
          left.abort();
          await Promise.all([asked, closed]);
        });
        await takenFor(model, answerChat(), 20);
        await measured(model, 20);
      });

      it('a killed broker does not take its shared measurements with it', async () => {
        const model = nextModel();
        const { process: victim, baseUrl } = await stage.service.addBroker();
        await times(20, () => ask(model, {}, { baseUrl }));
        await measured(model, 20);
        await times(3, () => ask(model, {}, { baseUrl }));
        await victim.kill9();
        await times(4, () => ask(model));
        await until(async () => ((await routesOf(model))[0]?.requests ?? 0) >= 24, 'the other broker is heard');
        expect((await routesOf(model))[0]?.requests).toBeLessThanOrEqual(27);
      });

      it('uptime counts what any broker counted in the last 24 hours, and nothing older', async () => {
        expect(await measured(oldModel, 57)).toMatchObject({ success_rate: 1 });
      });

      it('uptime is public and cacheable; a model is required and must be known', async () => {
        const url = `${stage.service.controlUrl}/models/uptime`;
        const answer = await get(`${url}?model=m/both`);
        expect(answer.headers.get('cache-control')).toMatch(/public, max-age=\d+/);
        expectError(await get(url), 400, 'missing_model');
        expectError(await get(`${url}?model=m/none`), 404, 'model_not_found');
        expectError(await get(`${url}?model=/auto`), 404, 'model_not_found');
      });
    });

    describe('measurements age by the clock', () => {
      it('a route without traffic loses its measurements, on every broker', async () => {
        const first = async (at: number): Promise<string | null> =>
          (await ask('m/both', { provider: { sort: 'latency' } }, { at })).headers.get('x-router-provider');
        handlers.set('slow', async (request, response) => {
          await sleep(500);
          return flowing(request, response);
        });
        stage.provider('beta').answer(flowing);
        const pinned = (provider: string) => ask('m/both', { provider, stream: true });
        // One after the other, because on a busy machine concurrent requests slow each other down.
        await times(25, () => pinned('beta'));
        await Promise.all(Array.from({ length: 25 }, () => pinned('alpha')));
        for (const at of [0, 1]) await until(async () => (await first(at)) === 'beta', 'the faster goes first');
        clock.aheadMs += 22 * hourMs;
        await sleep(5000);
        for (const at of [0, 1]) await until(async () => (await first(at)) === 'beta', 'what is 22 hours old counts');
        // Too few recent measurements are left to be trusted, so the cheaper route goes first again. Each request adds
        // a measurement, so the test sends few.
        clock.aheadMs += 2 * hourMs;
        const seldom = async (at: number): Promise<string | null> => {
          await sleep(2500);
          return first(at);
        };
        for (const at of [0, 1]) await until(async () => (await seldom(at)) === 'alpha', 'what is old is forgotten');
        clock.aheadMs = 0;
      });
    });

    describe('measurements in Redis', () => {
      it('are kept for a bounded time, by route and broker, without account or content', async () => {
        const record = /^\d+;\d+(;(\d+:\d+(,\d+:\d+)*)?){4}$/;
        const field = /^(broker-\d+|[\w-]{8})\|m\/(row-\d+|embed|both|old)@(alpha|beta)$/;
        await withRedis(stage.service.redisUrl ?? '', async (connection) => {
          const keys = await connection.keys('sotto:{measurements}*');
          expect(keys.length).toBeGreaterThanOrEqual(10);
          for (const key of keys) {
            const left = await connection.ttl(key);
            expect([left > 0, left <= 26 * 3600]).toEqual([true, true]);
            if (key.endsWith(':changes')) continue;
            const { count, begun, ...records } = await connection.hgetall(key);
            expect([count, begun]).toEqual([expect.stringMatching(/^\d+$/), expect.stringMatching(/^[0-9a-f-]{36}$/)]);
            for (const [name, value] of Object.entries(records)) {
              expect([name, value]).toEqual([expect.stringMatching(field), expect.stringMatching(record)]);
            }
          }
        });
      });
    });
  },
  { planes: ['two'] },
);
