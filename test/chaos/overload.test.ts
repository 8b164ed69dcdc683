import { Pool } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { end, startNode } from '../bench/contender.ts';
import { bearer } from '../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../kit/postgres.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../kit/redis.ts';
import { type Service, startService, type TestAccount, until } from '../kit/service.ts';
import { noteSkip } from '../kit/skips.ts';

const model = 'burst-500';
const clients = 500;
const forMs = 6000;

let redis: TestRedis | undefined;
let postgres: TestPostgres;
let provider: Awaited<ReturnType<typeof startNode>>;
let service: Service;
let account: TestAccount;

beforeAll(async () => {
  redis = await startTestRedis();
  if (redis === undefined) return noteSkip('more than a broker can do', redisSkipReason);
  postgres = await startTestPostgres();
  provider = await startNode('./processes/provider.ts', [], false);
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry: JSON.stringify({
      providers: [
        {
          ...{ id: 'p', name: 'P', adapter: 'openai', privacy_class: 'private' },
          base_url: `http://127.0.0.1:${provider.port}/v1`,
        },
      ],
    }),
    catalog: JSON.stringify({
      models: [
        {
          ...{ id: `m/${model}`, model_type: 'text', context_length: 10_000, max_output_tokens: 1000 },
          routes: [
            { provider: 'p', upstream_model: model, privacy_class: 'private', pricing: { input: 1, output: 1 } },
          ],
        },
      ],
    }),
  });
  account = await service.createAccount({ usd: 1000 });
});
afterAll(async () => {
  await service?.stop();
  if (redis !== undefined) await end(provider.child);
  await postgres?.stop();
  await redis?.stop();
});

interface Answered {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly isWhole: boolean;
  readonly text: string;
}

function openClients() {
  const pool = new Pool(new URL(service.baseUrl).origin, { connections: clients, pipelining: 1 });
  const body = JSON.stringify({
    ...{ model: `m/${model}`, stream: true, max_tokens: 1000 },
    messages: [{ role: 'user', content: 'Hi' }],
  });
  const headers = { ...bearer(account.inferenceKey), 'content-type': 'application/json' };
  const ask = (): Promise<Answered> =>
    new Promise((resolve, reject) => {
      let status = 0;
      let retryAfter: string | undefined;
      let text = '';
      pool.dispatch(
        { path: '/v1/chat/completions', method: 'POST', headers, body },
        {
          onRequestStart() {},
          onResponseStart(_controller, code, got) {
            status = code;
            retryAfter = got['retry-after']?.toString();
          },
          onResponseData(_controller, piece) {
            text = (text + piece.toString('latin1')).slice(-400);
          },
          onResponseEnd: () => resolve({ status, retryAfter, isWhole: text.includes('data: [DONE]'), text }),
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  return { ask, close: () => pool.destroy() };
}

it('five hundred clients that ask without a pause are served or told at once to come back, and all is paid for', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { ask, close } = openClients();
  const answers: Answered[] = [];
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() - startedAt < forMs) answers.push(await ask());
    }),
  );
  const served = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(served.length).toBeGreaterThan(clients);
  expect(served.filter(({ isWhole }) => !isWhole)).toEqual([]);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== '1')).toEqual([]);
  expect(JSON.parse(refused[0]?.text ?? '{}')).toMatchObject({ error: { type: 'service_unavailable' } });
  await until(() => service.logs().includes('requests shed'), 'the log says how many were refused');

  // Once there is room again nobody is refused.
  const isForAll = async (): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 100 }, ask))).every(({ status }) => status === 200);
  await until(isForAll, 'a hundred at once are served', 5000);
  await close();
  await service.settled(account);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
});
