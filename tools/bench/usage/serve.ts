import { randomUUID } from 'node:crypto';
import {
  buildControl,
  builtInBilling,
  type ControlConfig,
  insertKey,
  openDatabase,
  readBillingPlan,
  readConfigWithoutRedis,
} from '@sotto/control';
import { createMemoryState, MemoryStore, type State } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';
import pino from 'pino';

export interface UsageServer {
  readonly pool: pg.Pool;
  /** Returns the body of an answer. Throws unless the status is 200. `path` omits `/v1`. */
  get(path: string): Promise<string>;
  /** Reads an answer to its end without keeping it. */
  download(path: string): Promise<{ readonly lines: number; readonly seconds: number; readonly mostHeapMiB: number }>;
  stop(): Promise<void>;
}

/** Control's own routes on a database, with a management key of an account. */
export async function serveUsage(databaseUrl: string, accountId: string): Promise<UsageServer> {
  const { pool, close } = openDatabase(databaseUrl);
  const workspaceId = randomUUID();
  await pool.query('insert into accounts (id, name, wallet_id) values ($1, $2, $3) on conflict do nothing', [
    accountId,
    'bench',
    randomUUID(),
  ]);
  await pool.query("insert into workspaces (id, account_id, name, preferences) values ($1, $2, 'bench', $3)", [
    workspaceId,
    accountId,
    JSON.stringify(initialPreferences),
  ]);
  const { key } = await insertKey(pool, {
    accountId,
    workspaceId,
    kind: 'management',
    name: 'bench',
    creditLimitNusd: undefined,
    openaiCompatible: true,
  });
  const control = await bareControl(createMemoryState({ store: new MemoryStore(Date.now) }), databaseUrl);
  const origin = await control.app.listen({ port: 0, host: '127.0.0.1' });
  const ask = async (path: string): Promise<Response> => {
    const answer = await fetch(`${origin}/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  return {
    pool,
    get: async (path) => (await ask(path)).text(),
    async download(path) {
      const startedAt = performance.now();
      const { body } = await ask(path);
      let [lines, mostHeap] = [0, 0];
      for await (const piece of body ?? []) {
        for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
        mostHeap = Math.max(mostHeap, process.memoryUsage().heapUsed);
      }
      return { lines, seconds: (performance.now() - startedAt) / 1000, mostHeapMiB: mostHeap / 2 ** 20 };
    },
    async stop() {
      control.app.server.closeAllConnections();
      await control.app.close();
      await close();
    },
  };
}

/** Control on a state and a database, with the built-in catalog and no payment methods. */
export async function bareControl(
  state: State,
  databaseUrl: string,
  keys: Partial<Pick<ControlConfig, 'ACCOUNT_REF_KEY' | 'SETTLEMENT_MAC_KEY'>> = {},
): ReturnType<typeof buildControl> {
  const secret = '01'.repeat(32);
  const read = readConfigWithoutRedis({
    DATABASE_URL: databaseUrl,
    CONTROL_ORIGIN: 'http://127.0.0.1:1',
    CONFIDENTIAL_ORIGIN: 'http://127.0.0.1:2',
    TICKET_SEALING_KEY: secret,
    ACCOUNT_REF_KEY: secret,
    SETTLEMENT_MAC_KEY: secret,
    SESSION_SECRET: 'a secret of the bench, forty characters long',
    RATE_LIMIT_CONTROL: '1000000',
    RATE_LIMIT_REQUESTS: '1000000',
    RATE_LIMIT_TOKENS: '1000000000',
  });
  if (!read.ok) throw new Error(read.message);
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error(plan.message);
  return buildControl({
    config: { ...read.settings, ...keys },
    state,
    logger: pino({ level: 'silent' }),
    trustedOrigins: [],
    plan: plan.settings,
    limitsRedis: undefined,
  });
}
