import { createServer } from 'node:net';
import { join } from 'node:path';
import { migrateDatabase } from '@sotto/control';
import { StartError } from '@sotto/server';
import { inspectRedis } from '@sotto/state';
import { comparePrivacy, type ModelAnswer, preferredModel } from '@sotto/wire';
import { type EmbeddedConfig, loadSecrets } from './config.ts';
import { openDataDir } from './data-dir.ts';
import { ensureDemoAccount } from './demo/demo-account.ts';
import { demoProviderId } from './demo/demo-files.ts';
import { startDemoProvider } from './demo/demo-provider.ts';
import { seedUsage } from './demo/seed-usage.ts';
import { prepareFiles, providersWithoutKey } from './files/prepare-files.ts';
import { openLog } from './log.ts';
import { startOneProcess } from './one-process.ts';
import { type EnclaveVerification, showControlSettings } from './plane-environments.ts';
import { startPostgres } from './postgres/start-postgres.ts';
import { type QuickstartFacts, writeQuickstart } from './quickstart.ts';
import { waitUntil } from './service.ts';
import { startTwoProcesses } from './two-processes.ts';

/** Registers a stop as soon as something runs. Stops run in reverse order. */
export type OnStop = (stop: () => Promise<void>) => void;

/**
 * Starts everything on one machine: Postgres, the demo provider, both planes, the demo account. Returns the text to
 * print.
 */
export async function startEverything(
  config: EmbeddedConfig,
  onStop: OnStop,
  verification: EnclaveVerification = {},
): Promise<string> {
  const { dataDir } = config;
  await openDataDir(dataDir);
  if (config.REDIS_URL !== undefined) {
    await inspectRedis(config.REDIS_URL, 3000).catch(() => {
      throw new StartError(
        'REDIS_URL: Redis did not answer within three seconds. Check the address, and that Redis runs',
      );
    });
  }
  const demo = await startDemoProvider();
  onStop(() => demo.stop());
  // Refuses if another start uses this data directory, so it comes before anything is written there.
  const databaseUrl = config.DATABASE_URL ?? (await startDatabase(dataDir, onStop));
  const files = await prepareFiles({
    dataDir,
    demoUrl: demo.baseUrl,
    providersFile: config.PROVIDERS_FILE,
    catalogFile: config.CATALOG_FILE,
    localModels: config.LOCAL_MODELS,
    environment: process.env,
  });
  await migrateDatabase(databaseUrl).catch((error: unknown) => {
    if (error instanceof StartError) throw error;
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
    throw new StartError(`DATABASE_URL: cannot use the database: ${message}`);
  });

  const ports = {
    control: config.CONTROL_PORT === 0 ? await freePort() : config.CONTROL_PORT,
    confidential: config.CONFIDENTIAL_PORT === 0 ? await freePort() : config.CONFIDENTIAL_PORT,
  };
  const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
  const local = { control: `http://${host}:${ports.control}`, confidential: `http://${host}:${ports.confidential}` };
  const origins = {
    control: config.CONTROL_ORIGIN ?? local.control,
    confidential: config.CONFIDENTIAL_ORIGIN ?? local.confidential,
  };
  const options = {
    config,
    ports,
    local,
    origins,
    databaseUrl,
    files,
    secrets: await loadSecrets(config),
    logger: openLog(config.LOG_FORMAT, config.LOG_LEVEL),
    verification,
  };
  const planes = await (config.REDIS_URL === undefined ? startOneProcess(options) : startTwoProcesses(options));
  onStop(() => planes.stop());
  onStop(await showControlSettings(options));
  const reload = async (): Promise<void> => {
    for (const line of (await files.lookAgain?.()) ?? []) process.stdout.write(`${line}\n`);
    planes.reload();
  };
  process.on('SIGHUP', () => void reload().catch(() => process.stderr.write('sotto: the catalog cannot be written\n')));

  const account = await ensureDemoAccount({ dataDir, databaseUrl });
  const projectedBy = Date.now() + projectionMs;
  let models: readonly ModelAnswer[] = [];
  await waitUntil(
    async () => {
      const answer = await fetch(`${local.confidential}/v1/models`, {
        headers: { authorization: `Bearer ${account.inferenceKey}` },
      });
      if (!answer.ok) return false;
      models = ((await answer.json()) as { readonly data: readonly ModelAnswer[] }).data;
      // A new wallet reaches the state a moment after its key. Until then the first request would be refused.
      if (
        account.hasBalance &&
        Date.now() < projectedBy &&
        !(await showsBalance(`${local.control}/v1`, account.managementKey))
      )
        return false;
      return (await fetch(`${local.control}/readyz`)).ok && (await fetch(`${local.confidential}/readyz`)).ok;
    },
    60_000,
    'the planes are not ready after 60 seconds. Start with LOG_LEVEL=info to see why. For an invalid catalog, the log names the lines at fault',
  );
  if (config.SOTTO_SEED_USAGE === 'on') await seedUsage(databaseUrl, account, Date.now());
  return writeQuickstart({
    dataDir,
    controlOrigin: origins.control,
    confidentialOrigin: origins.confidential,
    account,
    oneProcess: planes.oneProcess,
    localLines: files.localLines,
    looksAgain: files.lookAgain !== undefined,
    hasOwnRegistry: config.PROVIDERS_FILE !== undefined,
    withoutKey: await providersWithoutKey(files.registryFile, process.env),
    ...examplesOf(models),
  });
}

/** Time in ms for a new wallet to reach the state. Charges that are not booked yet may have taken all of an old one. */
const projectionMs = 10_000;

async function showsBalance(controlUrl: string, managementKey: string): Promise<boolean> {
  const answer = await fetch(`${controlUrl}/balance`, { headers: { authorization: `Bearer ${managementKey}` } });
  const { available = 0, reserved = 0 } = (await answer.json()) as { available?: number; reserved?: number };
  return answer.ok && available + reserved > 0;
}

/** The model of the printed examples, and what `/auto` can do with the models that can be called. */
function examplesOf(models: readonly ModelAnswer[]): Pick<QuickstartFacts, 'model' | 'hasDemo' | 'auto'> {
  const chats = models.filter(({ model_type, auto_provider }) => model_type === 'text' && auto_provider !== null);
  const forAuto = chats.filter(({ auto }) => auto !== false);
  const isPrivate = ({ provider_routes }: ModelAnswer): boolean =>
    provider_routes.some(({ privacy_class }) => comparePrivacy(privacy_class, 'private') >= 0);
  return {
    model: preferredModel(chats)?.id,
    hasDemo: chats.some(({ id }) => id.startsWith(`${demoProviderId}/`)),
    auto: forAuto.length === 0 ? 'nothing' : forAuto.some(isPrivate) ? 'serves' : 'only_anonymous',
  };
}

async function startDatabase(dataDir: string, onStop: OnStop): Promise<string> {
  const postgres = await startPostgres({ dataDir: join(dataDir, 'postgres'), durability: 'full' }).catch(
    (error: unknown) => {
      throw new StartError(error instanceof Error ? error.message : 'PostgreSQL did not start');
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
