import { randomUUID } from 'node:crypto';
import {
  buildControl,
  builtInBilling,
  builtInCatalog,
  type ControlOptions,
  insertKey,
  openDatabase,
  readBillingPlan,
} from '@sotto/control';
import { createMemoryState, MemoryStore } from '@sotto/state';
import { initialPreferences } from '@sotto/wire';
import type pg from 'pg';
import pino from 'pino';

export interface UsageServer {
  readonly pool: pg.Pool;
  /** The body of an answer; throws unless it is 200. `path` is without `/v1`. */
  get(path: string): Promise<string>;
  /** Reads an answer to its end, keeping nothing. */
  download(path: string): Promise<{ readonly lines: number; readonly bytes: number; readonly mostHeapMiB: number }>;
  stop(): Promise<void>;
}

/** Control's own routes on a database, asked with a management key of an account. */
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
  const secret = Buffer.alloc(32, 1);
  const control = await buildControl({
    state: createMemoryState({ store: new MemoryStore(Date.now) }),
    logger: pino({ level: 'silent' }),
    databaseUrl,
    origin: 'http://127.0.0.1:1',
    confidentialOrigin: 'http://127.0.0.1:2',
    trustedOrigins: [],
    catalogFile: builtInCatalog,
    secrets: {
      accountRefKey: secret,
      settlementMacKey: secret,
      ticketSealingKey: secret,
      sessionSecret: 'a secret of the bench, forty characters long',
    },
    media: { image: false, speech: false },
    ticketTtlMs: 300_000,
    limits: { control: 1e6, requests: 1e6, tokens: 1e9 },
    limitsRedis: undefined,
    billing: await noBilling(),
    trustProxy: false,
  });
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
      const { body } = await ask(path);
      let [lines, bytes, mostHeap] = [0, 0, 0];
      for await (const piece of body ?? []) {
        bytes += piece.length;
        for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines += 1;
        mostHeap = Math.max(mostHeap, process.memoryUsage().heapUsed);
      }
      return { lines, bytes, mostHeapMiB: mostHeap / 2 ** 20 };
    },
    async stop() {
      control.app.server.closeAllConnections();
      await control.app.close();
      await close();
    },
  };
}

/** What the built-in file sells, and no way to pay for it. */
async function noBilling(): Promise<ControlOptions['billing']> {
  const plan = await readBillingPlan(builtInBilling);
  if (!plan.ok) throw new Error(plan.message);
  return { plan: plan.settings, rails: { stripe: undefined, btcpay: undefined, test: false } };
}
