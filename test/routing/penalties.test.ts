import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bearer, post } from '../contract/conformance/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../kit/own-broker.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import { answerChat, answerError, type FakeProvider, type ProviderHandler, startProvider } from '../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { type Service, startService, type TestAccount, until } from '../kit/service.ts';
import { noteSkip } from '../kit/skips.ts';

const model = 'm/one';
const secrets = sharedSecrets();

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let service: Service;
let account: TestAccount;
let alpha: FakeProvider;
let beta: FakeProvider;
/** Two brokers on one Redis, whose clock the tests move. */
const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
const brokers: OwnBroker[] = [];

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('penalties on two brokers', redisSkipReason);
  postgres = await startTestPostgres();
  [alpha, beta] = [await startProvider(), await startProvider()];
  const provider = (id: string, { baseUrl }: FakeProvider) => ({
    ...{ id, name: id, adapter: 'openai', base_url: baseUrl, privacy_class: 'private' },
  });
  const registry = JSON.stringify({ providers: [provider('alpha', alpha), provider('beta', beta)] });
  const route = (id: string, price: number) => ({
    ...{ provider: id, upstream_model: 'own', privacy_class: 'private', pricing: { input: price, output: price } },
  });
  const of = (id: string, routes: object[]) => ({ id, model_type: 'text', context_length: 8000, routes });
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry,
    catalog: JSON.stringify({
      models: [
        of(model, [route('alpha', 1), route('beta', 2)]),
        of('m/two', [route('alpha', 1), route('beta', 2)]),
        of('m/alone', [route('alpha', 1)]),
      ],
    }),
    environment: secrets,
  });
  account = await service.createAccount({ preferences: { provider_sort: 'price' } });
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

/** Which provider a broker tries first, as one request shows it. */
async function firstOf(at: number, asked = model): Promise<string> {
  const { text, headers, status } = await post(
    `${brokers[at]?.baseUrl}/chat/completions`,
    { model: asked, messages: [{ role: 'user', content: 'hello' }] },
    bearer(account.inferenceKey),
  );
  expect(status, text).toBe(200);
  const served = headers.get('x-router-provider') ?? '';
  return headers.get('x-router-provider-fallback') === 'true' ? `not ${served}` : served;
}

/**
 * A failure of alpha, seen by the first broker; then alpha is well again, and the second broker has heard of it. Answers
 * after how many ms it had.
 */
async function failAlpha(how: ProviderHandler = answerError(500), asked = model): Promise<number> {
  alpha.answer(how);
  expect(await firstOf(0, asked)).toBe('not beta');
  alpha.answer(answerChat());
  const failedAt = performance.now();
  await until(async () => (await firstOf(1, asked)) === 'beta', 'the other broker has heard of it');
  return performance.now() - failedAt;
}

const advance = (ms: number): void => {
  clock.aheadMs += ms;
};

/** So long is alpha behind, on both brokers, to the second; the clock is then past it. */
async function expectBehindFor(seconds: number): Promise<void> {
  const heardWithinMs = 5000;
  advance(seconds * 1000 - heardWithinMs - 1000);
  for (const at of [0, 1]) expect(await firstOf(at), `before ${seconds} s, broker ${at}`).toBe('beta');
  advance(heardWithinMs + 2000);
  for (const at of [0, 1]) expect(await firstOf(at), `after ${seconds} s, broker ${at}`).toBe('alpha');
}

describe('penalties (interface 3.2), on two brokers with a clock that is moved', () => {
  it('interface 3.2: a first failure puts the route behind healthy ones for 30 s; each further one doubles it, up to 5 minutes', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const heardAfterMs: number[] = [];
    for (const seconds of [30, 60, 120, 240, 300, 300]) {
      heardAfterMs.push(await failAlpha());
      await expectBehindFor(seconds);
    }
    // The machine may be busy; it is not each time.
    expect(Math.min(...heardAfterMs)).toBeLessThan(1000);
  });

  it('interface 3.2: ten minutes without a failure begin the count anew', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    advance(600_000);
    await failAlpha();
    await expectBehindFor(30);
    advance(600_000);
  });

  it('interface 3.3: a 429 concerns that route only, a 401 and a 402 every route of the provider', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    await failAlpha(answerError(429));
    expect(await firstOf(0, 'm/two')).toBe('alpha');
    for (const status of [401, 402]) {
      advance(700_000);
      await failAlpha(answerError(status));
      for (const at of [0, 1]) expect(await firstOf(at, 'm/two'), `${status}`).toBe('beta');
    }
    advance(700_000);
  });

  it('interface 3.2: a model with one route keeps working while that is penalized', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    await failAlpha(answerError(401));
    for (const at of [0, 1]) expect(await firstOf(at, 'm/alone')).toBe('alpha');
    advance(700_000);
  });

  it('survive a broker’s restart', async (context) => {
    if (redis === undefined) return context.skip('no Redis');
    await failAlpha();
    const [old] = brokers.splice(0, 1);
    await old?.stop();
    const registry = JSON.stringify({
      providers: [alpha, beta].map(({ baseUrl }, at) => {
        const id = at === 0 ? 'alpha' : 'beta';
        return { id, name: id, adapter: 'openai', base_url: baseUrl, privacy_class: 'private' };
      }),
    });
    brokers.push(await startOwnBroker({ redisUrl: redis.url, registry, secrets, now: clock.now }));
    expect(await firstOf(1)).toBe('beta');
  });
});
