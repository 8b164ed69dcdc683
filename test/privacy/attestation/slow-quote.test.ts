import { TdxMachine } from '@sotto/attestation/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer, post } from '../../contract/conformance/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../../kit/own-broker.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../../kit/redis.ts';
import { type Service, startService, type TestAccount } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';
import type { ConfigfsStandIn } from './configfs-stand-in.ts';
import { freshNonce, tdxGuest } from './world.ts';

const slowMs = 3_000;
let redis: TestRedis | undefined;
let postgres: TestPostgres;
let provider: FakeProvider;
let service: Service;
let account: TestAccount;
let broker: OwnBroker;
let configfs: ConfigfsStandIn;

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('chat beside a slow quote', redisSkipReason);
  postgres = await startTestPostgres();
  provider = await startProvider();
  const registry = JSON.stringify({
    providers: [{ id: 'acme', name: 'Acme', adapter: 'openai', base_url: provider.baseUrl, privacy_class: 'private' }],
  });
  const route = { provider: 'acme', upstream_model: 'own', privacy_class: 'private', pricing: { input: 1, output: 1 } };
  const secrets = sharedSecrets();
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry,
    catalog: JSON.stringify({
      models: [{ id: 'acme/small', model_type: 'text', context_length: 8000, routes: [route] }],
    }),
    environment: secrets,
  });
  account = await service.createAccount();
  const guest = await tdxGuest(await TdxMachine.make());
  configfs = guest.configfs;
  broker = await startOwnBroker({
    redisUrl: redis.url,
    registry,
    secrets,
    now: Date.now,
    producer: guest.producer,
  });
});
afterAll(async () => {
  await broker?.stop();
  await configfs?.stop();
  await service?.stop();
  await provider?.stop();
  await redis?.stop();
  await postgres?.stop();
});

it('a quote that takes three seconds holds up no chat request', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const chat = async (): Promise<number> => {
    const begin = performance.now();
    const body = { model: 'acme/small', messages: [{ role: 'user', content: 'hello' }] };
    const { status, text } = await post(`${broker.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
    expect(status, text).toBe(200);
    return performance.now() - begin;
  };
  await chat();
  configfs.delayMs = slowMs;
  const begin = performance.now();
  let quotedAfterMs: number | undefined;
  const quote = fetch(`${broker.baseUrl}/gateway/attestation?nonce=${freshNonce()}`).then(async (answer) => {
    expect(answer.status, await answer.text()).toBe(200);
    quotedAfterMs = performance.now() - begin;
  });
  const chats: number[] = [];
  while (performance.now() - begin < slowMs - 500) chats.push(await chat());
  expect(quotedAfterMs).toBeUndefined();
  // Nobody waited for the quote: on a busy machine a chat takes long, but not as long as that.
  expect(chats.length).toBeGreaterThan(5);
  expect(Math.max(...chats)).toBeLessThan(slowMs / 2);
  await quote;
  expect(quotedAfterMs).toBeGreaterThan(slowMs - 50);
});
