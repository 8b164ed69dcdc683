import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer } from '../../kit/call.ts';
import { freePort } from '../../kit/free-port.ts';
import { fromSource } from '../../kit/from-source.ts';
import { startTestPostgres, type TestPostgres } from '../../kit/postgres.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';
import { redisSkipReason, startTestRedis, type TestRedis } from '../../kit/redis.ts';
import { type Service, startService, until } from '../../kit/service.ts';
import { noteSkip } from '../../kit/skips.ts';

// Only Linux spreads connections over the processes of a port.
const canShare = process.platform === 'linux';
let redis: TestRedis | undefined;
let postgres: TestPostgres;
let provider: FakeProvider;
let service: Service;

beforeAll(async () => {
  redis = canShare ? await startTestRedis() : undefined;
  if (redis === undefined) return noteSkip('brokers that share a port', redisSkipReason);
  postgres = await startTestPostgres();
  provider = await startProvider();
  service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry: JSON.stringify({
      providers: [{ id: 'p', name: 'P', adapter: 'openai', base_url: provider.baseUrl, privacy_class: 'private' }],
    }),
    catalog: JSON.stringify({
      models: [
        {
          ...{ id: 'm/one', model_type: 'text', context_length: 10_000, max_output_tokens: 100 },
          routes: [
            { provider: 'p', upstream_model: 'one', privacy_class: 'private', pricing: { input: 1, output: 1 } },
          ],
        },
      ],
    }),
    environment: { CONFIDENTIAL_SHARE_PORT: 'on' },
  });
});
const key = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

/** A process's exit code and the last line of what it says. */
async function endOf(child: ChildProcess): Promise<[number | null, string | undefined]> {
  let said = '';
  child.stderr?.on('data', (piece: Buffer) => {
    said += piece.toString('utf8');
  });
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return [code, said.trim().split('\n').at(-1)];
}

afterAll(async () => {
  await service?.stop();
  await provider?.stop();
  await postgres?.stop();
  await redis?.stop();
});

it('brokers of one host share a port: both are met, and one goes on where the other is gone', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const account = await service.createAccount();
  const port = Number(new URL(service.baseUrl).port);
  const second = await service.addBroker({ port });
  const statuses = async (): Promise<number[]> => {
    const asked = Array.from({ length: 40 }, async () => {
      const answer = await fetch(`${service.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { ...bearer(account.inferenceKey), 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ model: 'm/one', messages: [{ role: 'user', content: 'Hi' }] }),
      });
      await answer.text();
      return answer.status;
    });
    return Promise.all(asked);
  };
  const all = Array(40).fill(200);
  // `addBroker` has seen one of the two be ready: the new one may still be on its way.
  await until(async () => (await statuses()).every((status) => status === 200), 'both are ready');
  expect(await statuses()).toEqual(all);
  await service.broker.kill9();
  await until(async () => (await statuses()).every((status) => status === 200), 'the second serves alone');
  await second.process.kill9();
  await expect(fetch(`${service.baseUrl}/models`)).rejects.toThrow();
});

it.each(['CONTROL_PORT', 'METRICS_PORT'])(
  'a control whose %s is taken says so and ends, whatever it has opened by then',
  async (variable) => {
    const taken = new URL(provider.baseUrl).port;
    const main = fileURLToPath(new URL('../../../apps/control/src/main.ts', import.meta.url));
    const child = spawn(process.execPath, [...fromSource, main, 'serve'], {
      env: {
        ...{ PATH: process.env.PATH ?? '', HOST: '127.0.0.1', CONTROL_PORT: String(await freePort()) },
        ...{ DATABASE_URL: await postgres.createDatabase(), REDIS_URL: redis?.url ?? 'redis://127.0.0.1:1' },
        ...{ TICKET_SEALING_KEY: key(1), SETTLEMENT_MAC_KEY: key(2), ACCOUNT_REF_KEY: key(3), SESSION_SECRET: key(4) },
        [variable]: taken,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const line = `sotto-control: ${variable} is \`${taken}\`: another process listens there; choose a free one`;
    expect(await endOf(child)).toEqual([1, line]);
  },
);

it('a port that is not shared is refused in one line that names the way to share it', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const taken = new URL(provider.baseUrl).port;
  const main = fileURLToPath(new URL('../../../apps/confidential/src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [...fromSource, main], {
    env: {
      ...{ PATH: process.env.PATH ?? '', HOST: '127.0.0.1', CONFIDENTIAL_PORT: taken, CONFIDENTIAL_TLS: 'off' },
      ...{ REDIS_URL: redis.url, ATTESTATION: 'off' },
      ...{ TICKET_SEALING_KEY: key(1), SETTLEMENT_MAC_KEY: key(2) },
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  expect(await endOf(child)).toEqual([
    1,
    `sotto-confidential: CONFIDENTIAL_PORT is \`${taken}\`: another process listens there; choose a free one, or have brokers share it with CONFIDENTIAL_SHARE_PORT=on`,
  ]);
});
