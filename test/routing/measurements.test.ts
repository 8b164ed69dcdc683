import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisState } from '@sotto/state';
import { type UptimeAnswer, uptimeAnswerSchema } from '@sotto/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, expectError, get } from '../contract/conformance/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../kit/own-broker.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import {
  answerChat,
  answerError,
  answerNothing,
  type FakeProvider,
  type ProviderHandler,
  sendJson,
  startProvider,
} from '../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { withRedis } from '../kit/redis-connection.ts';
import { type Service, startService, type TestAccount, until } from '../kit/service.ts';
import { noteSkip } from '../kit/skips.ts';

const secrets = sharedSecrets();
/** One model a row, so that no row sees what another does. */
const rows = 25;
const oldModel = 'm/old';
const hourMs = 3_600_000;

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let service: Service;
let account: TestAccount;
let alpha: FakeProvider;
let beta: FakeProvider;
let registry: string;
/** How alpha answers, by its own name of the model. */
const handlers = new Map<unknown, ProviderHandler>();
/** Two brokers on one Redis, whose clock the tests move; control goes by the real one. */
const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
const brokers: OwnBroker[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('measurements of two brokers', redisSkipReason);
  postgres = await startTestPostgres();
  [alpha, beta] = [await startProvider(), await startProvider()];
  alpha.answer((request, response) => (handlers.get(request.body.model) ?? answerChat())(request, response));
  await shareOld(redis.url);
  const provider = (id: string, { baseUrl }: FakeProvider) => ({
    ...{ id, name: id, adapter: 'openai', base_url: baseUrl, privacy_class: 'private' },
  });
  registry = JSON.stringify({ providers: [provider('alpha', alpha), provider('beta', beta)] });
  const route = (id: string, price: number, own = 'own') => ({
    ...{ provider: id, upstream_model: own, privacy_class: 'private', pricing: { input: price, output: price } },
  });
  const model = (id: string, type: string, routes: object[]) => ({
    ...{ id, model_type: type, context_length: 8000, routes },
  });
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry,
    catalog: JSON.stringify({
      models: [
        ...Array.from({ length: rows }, (_, row) => model(`m/row-${row}`, 'text', [route('alpha', 1, `m/row-${row}`)])),
        model(oldModel, 'text', [route('alpha', 1)]),
        model('m/embed', 'embedding', [{ ...route('alpha', 1), pricing: { input: 1 } }]),
        model('m/both', 'text', [route('alpha', 1), route('beta', 2)]),
      ],
    }),
    environment: secrets,
  });
  account = await service.createAccount({ usd: 1000 });
  for (let count = 0; count < 2; count += 1) {
    brokers.push(await startOwnBroker({ redisUrl: redis.url, registry, secrets, now: clock.now }));
  }
});
afterAll(async () => {
  for (const broker of brokers) await broker.stop();
  await service?.stop();
  await Promise.all([alpha?.stop(), beta?.stop()]);
  await redis?.stop();
  await postgres?.stop();
});

/** What brokers that are long gone counted: two of them more than a day ago. */
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

const baseUrlOf = (at: number): string => brokers[at]?.baseUrl ?? '';

interface Asking {
  readonly at?: number;
  readonly baseUrl?: string;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

/** Sends a request and reads its answer, whatever that is. */
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
  return uptimeAnswerSchema.parse((await get(`${service.controlUrl}/models/uptime?model=${model}`)).json).routes;
}

/** What control tells of the one route of a model, once so many requests were measured and none beyond. */
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
const breaksOff: ProviderHandler = async (request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = { choices: [{ index: 0, delta: { content: 'a piece' }, finish_reason: null }] };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  await sleep(20);
  void request;
  response.socket?.resetAndDestroy();
};
const flowing = answerChat({ pieces: Array.from({ length: 20 }, () => 'piece '), pieceMs: 3 });

const takenFor = async (model: string, handler: ProviderHandler, count: number, body: object = {}): Promise<void> => {
  handlers.set(model, handler);
  await times(count, () => ask(model, body));
};

describe.concurrent('measurements (docs/guides/measurements.md), through the front door', () => {
  it('success: streams, with time to first token and speed; the attempts of two brokers add up', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
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
    expect(route.series.reduce((sum, { requests }) => sum + requests, 0)).toBe(20);
  });

  it('success: whole answers, which have no first token and no speed', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    const model = nextModel();
    await takenFor(model, answerChat(), 20);
    expect(await measured(model, 20)).toMatchObject({ success_rate: 1, ttft_ms: null, throughput_tps: null });
  });

  it('success: vectors, with the time to their answer', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
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
  ])('failure: %s', async ([, answer, body], { skip }) => {
    if (redis === undefined) return skip('no Redis');
    const model = nextModel();
    await takenFor(model, answer, 15, body);
    await takenFor(model, answerChat(), 5);
    expect(await measured(model, 20)).toMatchObject({ success_rate: 0.25 });
  });

  it.for([400, 403, 409, 413, 422])('not at all: the caller’s own %i', async (status, { skip }) => {
    if (redis === undefined) return skip('no Redis');
    const model = nextModel();
    await takenFor(model, answerError(status), 3);
    await takenFor(model, answerChat(), 1);
    await measured(model, 1);
  });

  it.for<[string, ProviderHandler]>([
    ['before there is output', answerNothing],
    ['in the middle of a stream', answerChat({ pieces: Array.from({ length: 500 }, () => 'piece '), pieceMs: 10 })],
  ])('not at all: a client that leaves %s', async ([, answer], { skip }) => {
    if (redis === undefined) return skip('no Redis');
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
    await takenFor(model, answerChat(), 1);
    await measured(model, 1);
  });

  it('a broker that is killed does not take along what it had shared', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    const model = nextModel();
    const { process: victim, baseUrl } = await service.addBroker();
    await times(20, () => ask(model, {}, { baseUrl }));
    await measured(model, 20);
    await times(3, () => ask(model, {}, { baseUrl }));
    await victim.kill9();
    await times(4, () => ask(model));
    await until(async () => ((await routesOf(model))[0]?.requests ?? 0) >= 24, 'the other broker is heard');
    expect((await routesOf(model))[0]?.requests).toBeLessThanOrEqual(27);
  });

  it('uptime counts what any broker counted in the last 24 hours, and nothing older', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    expect(await measured(oldModel, 57)).toMatchObject({ success_rate: 1 });
  });

  it('interface 4.1: uptime is public and cacheable; a model is required and must be known', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    const url = `${service.controlUrl}/models/uptime`;
    const answer = await get(`${url}?model=m/both`);
    expect(answer.headers.get('cache-control')).toMatch(/public, max-age=\d+/);
    expectError(await get(url), 400, 'missing_model');
    expectError(await get(`${url}?model=m/none`), 404, 'model_not_found');
    expectError(await get(`${url}?model=/auto`), 404, 'model_not_found');
  });
});

describe('measurements age by the clock', () => {
  it('a route without traffic loses its own, on every broker', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    const first = async (at: number): Promise<string | null> =>
      (await ask('m/both', { provider: { sort: 'latency' } }, { at })).headers.get('x-router-provider');
    handlers.set('own', async (request, response) => {
      await sleep(500);
      return flowing(request, response);
    });
    beta.answer(flowing);
    const pinned = (provider: string) => ask('m/both', { provider, stream: true });
    // One after the other: on a busy machine they would be slow because of each other.
    await times(25, () => pinned('beta'));
    await Promise.all(Array.from({ length: 25 }, () => pinned('alpha')));
    for (const at of [0, 1]) await until(async () => (await first(at)) === 'beta', 'the faster goes first');
    clock.aheadMs += 22 * hourMs;
    await sleep(5000);
    for (const at of [0, 1]) expect(await first(at)).toBe('beta');
    // Too few since then to be believed: the cheaper goes first again. To ask is to measure, so it is asked seldom.
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
  it('are there for a bounded time, by route and broker, without account or content', async ({ skip }) => {
    if (redis === undefined) return skip('no Redis');
    const record = /^\d+;\d+(;(\d+:\d+(,\d+:\d+)*)?){4}$/;
    const field = /^(broker-\d+|[\w-]{8})\|m\/(row-\d+|embed|both|old)@(alpha|beta)$/;
    await withRedis(redis.url, async (connection) => {
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
