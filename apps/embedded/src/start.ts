import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { migrateDatabase } from '@sotto/control';
import { inspectRedis } from '@sotto/state';
import { pino } from 'pino';
import type { EmbeddedConfig } from './config.ts';
import { ensureDemoAccount } from './demo/demo-account.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { prepareFiles } from './files.ts';
import { type EnclaveVerification, startOneProcess } from './one-process.ts';
import { startPostgres } from './postgres/index.ts';
import { writeQuickstart } from './quickstart.ts';
import { loadSecrets } from './secrets.ts';
import { StartError, waitUntil } from './service.ts';
import { startTwoProcesses } from './two-processes.ts';

/** What runs: what to print, and how to end it. */
export interface Running {
  readonly banner: string;
}

/** Called as soon as something runs that must be stopped; stops run in the reverse order. */
export type OnStop = (stop: () => Promise<void>) => void;

/** Starts everything on one machine: Postgres, the demo provider, both planes, the demo account. */
export async function startEverything(
  config: EmbeddedConfig,
  onStop: OnStop,
  verification: EnclaveVerification = {},
): Promise<Running> {
  const { dataDir } = config;
  await mkdir(dataDir, { recursive: true });
  // Passable for Postgres, which does not run as root; what is secret inside is 0600 itself.
  await chmod(dataDir, 0o711);
  if (config.redisUrl !== undefined) {
    await inspectRedis(config.redisUrl, 3000).catch(() => {
      throw new StartError('REDIS_URL: Redis cannot be used: it did not answer within three seconds');
    });
  }
  const databaseUrl = config.databaseUrl ?? (await startDatabase(dataDir, onStop));
  await migrateDatabase(databaseUrl).catch((error: unknown) => {
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
    throw new StartError(`DATABASE_URL: the database cannot be used: ${message}`);
  });
  const demo = await startDemoProvider();
  onStop(() => demo.stop());

  const ports = {
    control: config.controlPort === 0 ? await freePort() : config.controlPort,
    confidential: config.confidentialPort === 0 ? await freePort() : config.confidentialPort,
  };
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  const origins = {
    control: config.controlOrigin ?? `http://${host}:${ports.control}`,
    confidential: config.confidentialOrigin ?? `http://${host}:${ports.confidential}`,
  };
  const options = {
    config,
    ports,
    origins,
    databaseUrl,
    files: await prepareFiles({ ...config, demoUrl: demo.baseUrl }),
    secrets: await loadSecrets(config),
    logger: pino({ level: config.logLevel }),
    verification,
  };
  const planes = await (config.redisUrl === undefined ? startOneProcess(options) : startTwoProcesses(options));
  onStop(() => planes.stop());

  const local = { control: `http://${host}:${ports.control}`, confidential: `http://${host}:${ports.confidential}` };
  const account = await ensureDemoAccount({ dataDir, databaseUrl, controlUrl: `${local.control}/v1` });
  let models: readonly Listed[] = [];
  await waitUntil(
    async () => {
      const answer = await fetch(`${local.confidential}/v1/models`, {
        headers: { authorization: `Bearer ${account.inferenceKey}` },
      });
      if (!answer.ok) return false;
      models = ((await answer.json()) as { readonly data: readonly Listed[] }).data;
      return (await fetch(`${local.control}/readyz`)).ok && (await fetch(`${local.confidential}/readyz`)).ok;
    },
    60_000,
    'the planes do not become ready; run with LOG_LEVEL=info to see why (a catalog that is refused is logged with its lines)',
  );
  const banner = await writeQuickstart({
    dataDir,
    controlOrigin: origins.control,
    confidentialOrigin: origins.confidential,
    account,
    oneProcess: planes.oneProcess,
    ...examplesOf(models),
  });
  return { banner };
}

/** What is looked at of a model in the list. */
interface Listed {
  readonly id: string;
  readonly model_type: string;
  /** Null where nothing serves it now. */
  readonly auto_provider: string | null;
}

const demoModel = 'demo/chat';

/** The model of the printed `curl` lines: the demo's, or with files of the user's own the first that chats. */
function examplesOf(models: readonly Listed[]): { readonly model: string | undefined; readonly hasDemo: boolean } {
  const chats = models
    .filter((model) => model.model_type === 'text' && model.auto_provider !== null)
    .map(({ id }) => id);
  const hasDemo = chats.includes(demoModel);
  return { model: hasDemo ? demoModel : chats[0], hasDemo };
}

async function startDatabase(dataDir: string, onStop: OnStop): Promise<string> {
  const postgres = await startPostgres({ dataDir: join(dataDir, 'postgres'), durability: 'full' }).catch(
    (error: unknown) => {
      throw new StartError(error instanceof Error ? error.message : 'Postgres does not start');
    },
  );
  onStop(() => postgres.stop());
  return postgres.url;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
