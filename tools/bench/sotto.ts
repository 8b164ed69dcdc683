import { spawnSync } from 'node:child_process';
import {
  bindingsOf,
  createRedisState,
  generationOf,
  hashSecret,
  LeaseKeeper,
  sealTicket,
  shardOfWallet,
} from '@sotto/state';
import { startOwnRedis } from '@sotto/test-servers';
import { initialPreferences, type Operation } from '@sotto/wire';
import { Redis } from 'ioredis';
import { setup as bundlePrograms } from '../../test/kit/bundles.ts';
import { startOwnPostgres } from '../../test/kit/postgres.ts';
import { bundledVariable } from '../../test/kit/programs.ts';
import { type Service, startService, type TestAccount, until } from '../../test/kit/service.ts';
import { type Contender, everyCore, pin } from './contender.ts';

export interface BenchOptions {
  /** PROVIDERS_FILE and CATALOG_FILE. */
  readonly registry: string;
  readonly catalog: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** As in the test kit's service. */
  readonly enclaves?: string;
  readonly discardLogs?: boolean;
  /**
   * Whether control and Postgres run only when no other process needs a core, because in production they have their own
   * machine. Default: true.
   */
  readonly ledgerYields?: boolean;
  /** Whether Redis writes to disk before it answers, as in production. Default: false. */
  readonly durable?: boolean;
  /** Whether the broker has a core of its own, and Redis one whenever it has work. Default: true. */
  readonly pinned?: boolean;
  /** Whether the processes run from bundles, as in the images, or else from their sources. Default: true. */
  readonly bundled?: boolean;
  /** Flags of Node for the broker. */
  readonly brokerFlags?: readonly string[];
}

/** Sotto as two processes, with a real Redis and a real Postgres. */
export interface BenchService {
  readonly service: Service;
  readonly account: TestAccount;
  readonly redisUrl: string;
  /** Process ids of the servers that we started. */
  readonly pids: { readonly redis: number | undefined; readonly postgres: number | undefined };
  /** Mints a ticket as control does, without HTTP. */
  mint(model: string, operation?: Operation): Promise<string>;
  /** The broker, reached with a key or with tickets. */
  contender(flow: Flow, options?: ContenderOptions): Contender;
  stop(): Promise<void>;
}

export type Flow = 'key' | 'ticket';

export interface ContenderOptions {
  readonly name?: string;
  /** Default: chat. */
  readonly operation?: Operation;
  readonly path?: string;
  /** Returns the canonical id for a model's short name. */
  readonly model?: (name: string) => string;
  readonly body?: (name: string, stream: boolean) => string;
  /** Default: the service's one broker. */
  readonly origin?: string;
  readonly pids?: () => readonly number[];
}

/** One provider, the benchmark's own, with a model for each of its answers. */
export const benchRegistry = (upstream: string): string =>
  JSON.stringify({
    providers: [{ id: 'bench', name: 'Bench', adapter: 'openai', base_url: upstream, privacy_class: 'private' }],
  });
export const benchModel = (name: string, type = 'text'): object => ({
  id: `bench/${name}`,
  model_type: type,
  context_length: 1_000_000,
  ...(type === 'text' ? { max_output_tokens: 20_000 } : {}),
  routes: [
    {
      provider: 'bench',
      upstream_model: name,
      privacy_class: 'private',
      pricing: type === 'text' ? { input: 0.1, output: 0.2 } : { input: 0.1 },
    },
  ],
});
export const benchCatalog = (models: readonly string[]): string =>
  JSON.stringify({ models: models.map((name) => benchModel(name)) });

/** Undefined without Redis. */
export async function startSotto({
  registry,
  catalog,
  environment,
  enclaves,
  discardLogs,
  ledgerYields = true,
  durable = false,
  pinned = true,
  bundled = true,
  brokerFlags = [],
}: BenchOptions): Promise<BenchService | undefined> {
  const redis = await startOwnRedis({ appendOnly: durable });
  if (redis === undefined) return undefined;
  if (pinned && redis.pid !== undefined) runAtOnce(redis.pid);
  if (bundled) await bundlePrograms();
  else delete process.env[bundledVariable];
  const postgres = await startOwnPostgres();
  if (ledgerYields) yieldTo(postgres.pid);
  const sealingKey = Buffer.alloc(32, 7);
  const service = await startService({
    planes: 'two',
    databaseUrl: await postgres.createDatabase(),
    redisUrl: redis.url,
    registry,
    catalog,
    environment: { LOG_LEVEL: 'info', TICKET_SEALING_KEY: sealingKey.toString('base64'), ...environment },
    enclaves,
    discardLogs,
    own: { broker: { flags: brokerFlags } },
  });
  if (pinned) pin(service.broker.pid);
  if (ledgerYields) yieldTo(service.control.pid);
  const account = await service.createAccount({ usd: 9_000_000 });
  const state = createRedisState({ url: redis.url });
  await until(() => state.isReady(), 'the bench reaches Redis');
  const leases = new LeaseKeeper({ state, declare: () => undefined });
  const renewing = setInterval(() => void leases.renew(), 1000);
  await leases.renew();
  const keyHash = hashSecret(account.inferenceKey);
  const found = await state.lookupKey(keyHash);
  const { rows } = await service.pool.query<{ wallet_id: string; generation: number; version: string }>(
    `select a.wallet_id, k.generation, w.version from api_keys k
     join accounts a on a.id = k.account_id join workspaces w on w.id = k.workspace_id where k.hash = $1`,
    [keyHash],
  );
  const [row] = rows;
  if (found === undefined || row === undefined) throw new Error('the key is not projected');
  const ttlMs = 3_600_000;
  const stream = new Redis(redis.url);
  const unbooked = `sotto:{w${found.shard}}:stream`;

  const mint: BenchService['mint'] = async (model, operation = 'chat') => {
    const ticket = sealTicket(sealingKey, {
      v: 1,
      shard: found.shard,
      expiresAt: Date.now() + ttlMs,
      bindings: bindingsOf({ operation, model, reasoning: {} }),
      preferences: initialPreferences,
      accountRef: found.record.accountRef,
    });
    await state.mint({
      shard: shardOfWallet(row.wallet_id),
      ticketHashes: [hashSecret(ticket)],
      walletId: row.wallet_id,
      keyHash,
      generation: generationOf(row.generation, Number(row.version)),
      ttlMs,
    });
    return ticket;
  };

  return {
    service,
    account,
    redisUrl: redis.url,
    pids: { redis: redis.pid, postgres: postgres.pid },
    mint,
    contender(flow, options = {}) {
      const tickets: string[] = [];
      const model = options.model ?? ((name: string): string => `bench/${name}`);
      const headers: () => Record<string, string> =
        flow === 'key'
          ? () => ({ authorization: `Bearer ${account.inferenceKey}` })
          : () => ({ 'x-router-ticket': tickets.pop() ?? '' });
      return {
        name: options.name ?? (flow === 'key' ? 'Sotto, compatibility mode' : 'Sotto, private flow (tickets)'),
        target: {
          origin: options.origin ?? new URL(service.baseUrl).origin,
          path: options.path ?? '/v1/chat/completions',
          model,
          headers,
          ...(options.body === undefined ? {} : { body: options.body }),
        },
        pids: options.pids ?? (() => [service.broker.pid]),
        async prepare(requests, name) {
          if (flow === 'key') return;
          tickets.length = 0;
          // A load that held up this process may have let a renewal of the leases time out.
          await until(() => state.isReady(), 'the bench reaches Redis again');
          while (tickets.length < requests) {
            const batch = Array.from({ length: Math.min(100, requests - tickets.length) }, () =>
              mint(model(name), options.operation),
            );
            tickets.push(...(await Promise.all(batch)));
          }
        },
        async rest() {
          await until(async () => (await stream.xlen(unbooked)) === 0, 'the ledger has booked what was asked', 300_000);
        },
        stop: async () => {},
      };
    },
    async stop() {
      clearInterval(renewing);
      await stream.quit();
      await leases.leave();
      await state.close();
      await service.stop();
      await redis.stop();
      await postgres.stop();
    },
  };
}

/**
 * Lets a process run whenever it has work. In production, Redis has a core of its own. Here it shares one with the load and the
 * provider, which can keep it waiting for seconds. Its nice value does not help, because it has a session of its own, and Linux weighs
 * sessions (autogroups). If this is not allowed, it keeps the normal priority.
 */
function runAtOnce(pid: number): void {
  spawnSync('chrt', ['--rr', '--all-tasks', '--pid', '1', String(pid)], { stdio: 'ignore' });
}

/** Lets a process use any core, but only when no other process needs it. */
function yieldTo(pid: number): void {
  spawnSync('taskset', ['-apc', everyCore, String(pid)]);
  spawnSync('chrt', ['--idle', '--all-tasks', '--pid', '0', String(pid)]);
}
