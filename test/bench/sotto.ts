import { spawnSync } from 'node:child_process';
import { bindingsOf, createRedisState, hashSecret, type State, sealTicket, shardOfWallet } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import { startTestPostgres } from '../kit/postgres.ts';
import { startTestRedis } from '../kit/redis.ts';
import { startService, until } from '../kit/service.ts';
import type { Contender } from './contender.ts';

/** Sotto as two processes on a real Redis and a real Postgres, asked in both flows. */
export async function startSotto(
  upstream: string,
  models: readonly string[],
): Promise<{ contenders: Contender[]; stop(): Promise<void> } | undefined> {
  const redis = await startTestRedis({ appendOnly: false });
  if (redis === undefined) return undefined;
  const postgres = await startTestPostgres();
  const sealingKey = Buffer.alloc(32, 7);
  const environment = {
    ...(process.env.PROF ? { NODE_OPTIONS: process.env.PROF } : {}),
    LOG_LEVEL: 'info',
    TICKET_SEALING_KEY: sealingKey.toString('base64'),
  };
  const service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry: `providers:\n  - {id: bench, name: Bench, adapter: openai, base_url: "${upstream}", privacy_class: private}\n`,
    catalog: `models:\n${models.map(modelEntry).join('')}`,
    environment,
  });
  spawnSync('taskset', ['-apc', '0', String(service.broker.pid)]);
  const account = await service.createAccount({ usd: 9000 });
  const state = createRedisState({ url: redis.url });
  await until(() => state.isReady(), 'the bench reaches Redis');
  const mint = await minter(state, service, account.inferenceKey, sealingKey);
  const origin = service.baseUrl.replace(/\/v1$/, '');
  const model = (name: string): string => `bench/${name}`;
  const path = '/v1/chat/completions';
  const pids = (): readonly number[] => [service.broker.pid];
  const tickets: string[] = [];
  return {
    contenders: [
      {
        name: 'Sotto, compatibility mode',
        target: { origin, path, model, headers: () => ({ authorization: `Bearer ${account.inferenceKey}` }) },
        pids,
        stop: async () => {},
      },
      {
        name: 'Sotto, private flow (tickets)',
        target: {
          origin,
          path,
          model,
          headers: () => ({ 'x-router-ticket': tickets.pop() ?? '' }),
        },
        pids,
        async prepare(requests, name) {
          tickets.length = 0;
          for (let i = 0; i < requests; i += 100) {
            tickets.push(
              ...(await Promise.all(Array.from({ length: Math.min(100, requests - i) }, () => mint(model(name))))),
            );
          }
        },
        stop: async () => {},
      },
    ],
    async stop() {
      await state.close();
      await service.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

const modelEntry = (name: string): string => `  - id: bench/${name}
    model_type: text
    context_length: 128000
    max_output_tokens: 4096
    routes: [{provider: bench, upstream_model: ${name}, privacy_class: private, pricing: {input: 0.1, output: 0.2}}]
`;

/** Mints tickets as control does, without its HTTP: the bench measures the broker. */
async function minter(
  state: State,
  service: Awaited<ReturnType<typeof startService>>,
  key: string,
  sealingKey: Buffer,
): Promise<(model: string) => Promise<string>> {
  const keyHash = hashSecret(key);
  const found = await state.lookupKey(keyHash);
  const { rows } = await service.pool.query<{ wallet_id: string }>(
    'select a.wallet_id from accounts a join api_keys k on k.account_id = a.id where k.hash = $1',
    [keyHash],
  );
  const [row] = rows;
  if (found === undefined || row === undefined) throw new Error('the key is not projected');
  const ttlMs = 3_600_000;
  return async (model) => {
    const ticket = sealTicket(sealingKey, {
      v: 1,
      shard: found.shard,
      generation: found.generation,
      expiresAt: Date.now() + ttlMs,
      bindings: bindingsOf({ operation: 'chat', model, reasoning: {} }),
      preferences: initialPreferences,
      accountRef: found.record.accountRef,
    });
    await state.mint({
      shard: shardOfWallet(row.wallet_id),
      ticketHash: hashSecret(ticket),
      walletId: row.wallet_id,
      keyHash,
      ttlMs,
    });
    return ticket;
  };
}
