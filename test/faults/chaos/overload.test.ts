import { Pool } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { end, startNode } from '../../../tools/bench/contender.ts';
import { bearer } from '../../kit/call.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../../kit/redis.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

const model = 'burst-500';
/** More than the 2,000 that may wait of a burst. */
const clients = 3000;

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
  return { ask, connected: () => pool.stats.connected, close: () => pool.destroy() };
}

it('more at once than may wait are served or told at once to come back, and all is paid for', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { ask, connected, close } = openClients();
  // They meet a broker that stands still, so that all are there at once however busy this machine is.
  const { pid } = service.broker;
  process.kill(pid, 'SIGSTOP');
  const asked = Array.from({ length: clients }, ask);
  await until(() => connected() === clients, 'all are connected', 60_000).finally(() => process.kill(pid, 'SIGCONT'));
  const answers = await Promise.all(asked);
  const served = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(served.length).toBeGreaterThan(0);
  expect(served.filter(({ isWhole }) => !isWhole)).toEqual([]);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter !== '1')).toEqual([]);
  expect(JSON.parse(refused[0]?.text ?? '{}')).toMatchObject({ error: { type: 'service_unavailable' } });
  await until(() => service.logs().includes('requests shed'), 'the log says how many were refused', 60_000);

  // Once there is room again nobody is refused.
  const isForAll = async (): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 100 }, ask))).every(({ status }) => status === 200);
  await until(isForAll, 'a hundred at once are served', 60_000);
  await close();
  await service.settled(account);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
}, 240_000);
