import { writeFileSync } from 'node:fs';
import {
  createMetricsApp,
  exitMessage,
  listenBacklog,
  listenError,
  openLogOutlet,
  readFileOrPart,
  returnMemoryWhenQuiet,
  StartError,
  setting,
} from '@sotto/server';
import { controlClient, createRedisState, leaveReplica, readRedisUrl } from '@sotto/state';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { builtInCatalog, checkCatalogText } from '../catalog/built-in-files.ts';
import { composeControl } from '../compose-control.ts';
import { readConfig } from '../config.ts';
import { migrateDatabase } from '../database/migrate.ts';
import { controlEvents } from '../events.ts';
import { CliError, type CliProcess, required, today } from './cli-process.ts';

/**
 * Runs the control plane until SIGTERM or SIGINT. It already listens while the database starts. Until then it is not
 * ready: it answers public reads, and answers other requests with 503.
 */
export async function serve(context: CliProcess): Promise<void> {
  keepMemoryOutOfDumps();
  // Node would print the whole error, and a query’s error quotes a row.
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-control', error));
    process.exit(1);
  });
  const config = required(readConfig(context.environment));
  await requireSoundCatalog(config.CATALOG_FILE ?? builtInCatalog);
  returnMemoryWhenQuiet();
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const logger = pino({ level: config.LOG_LEVEL, base: { process: 'control' } }, outlet);
  const events = controlEvents(logger);
  const stopped = new Promise<void>((resolve) => {
    process.on('SIGTERM', resolve);
    process.on('SIGINT', resolve);
  });
  let isRunning = true;
  void stopped.then(() => {
    isRunning = false;
  });
  const migrated = async (): Promise<boolean> => {
    while (isRunning) {
      const failure = await migrateDatabase(config.DATABASE_URL).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined) return true;
      if (failure instanceof StartError) {
        context.error(`sotto-control: ${failure.message}`);
        process.exit(1);
      }
      events.databaseNotReady(failure);
      await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 1000))]);
    }
    return false;
  };

  const isProduction = config.NODE_ENV === 'production';
  const state = createRedisState({
    ...{ url: config.REDIS_URL, newClient: controlClient },
    ...{ onDenied: events.redisDenied, onConnection: events.redisConnection },
    onVolatile: isProduction ? (problem) => events.redisVolatile({ problem }) : undefined,
  });
  const limitsRedis = openLimitsRedis(config.REDIS_URL);
  const control = await composeControl(config, { state, logger, trustedOrigins: [], limitsRedis });
  process.on('SIGHUP', () => control.reload());
  await control.start(migrated());
  const listenFailed = (variable: string) => (error: unknown) => {
    isRunning = false;
    throw listenError(error, variable);
  };
  await control.app
    .listen({ host: config.HOST, port: config.CONTROL_PORT, backlog: listenBacklog })
    .catch(listenFailed('CONTROL_PORT'));
  const { HOST: host, METRICS_PORT: port } = config;
  const metrics = createMetricsApp([control.metrics.withProcess().registry]);
  if (port !== undefined) {
    await metrics.listen({ host, port }).catch(listenFailed('METRICS_PORT'));
  }
  await stopped;
  process.once('SIGINT', () => process.exit(1));
  await control.stop(setting.readDrain(config));
  await metrics.close();
  limitsRedis?.disconnect();
  await state.close();
}

/** Throws a `CliError` with every problem of the catalog, each with its line. What needs the registry is checked later. */
async function requireSoundCatalog(file: string): Promise<void> {
  const bytes = await readFileOrPart(file).catch(() => {
    throw new CliError(`CATALOG_FILE is \`${file}\`, which cannot be read; set it to a readable file`);
  });
  const { problems } = checkCatalogText(bytes.toString('utf8'), undefined, today());
  if (problems.length === 0) return;
  const lines = problems.map(({ line, message }) => `  ${file}:${line}: ${message}`);
  throw new CliError(`CATALOG_FILE has problems:\n${lines.join('\n')}`);
}

/** Connects to Redis for rate limits that several control processes share. On a cluster, each process counts alone. */
function openLimitsRedis(url: string): Redis | undefined {
  const { nodes, cluster, auth } = readRedisUrl(url);
  const [node] = nodes;
  if (cluster || node === undefined) return undefined;
  const redis = new Redis({
    ...auth,
    ...node,
    connectTimeout: 500,
    // The limits protect no money, so a Redis that hangs may delay a request by this much at most.
    commandTimeout: 150,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    // Sends the counts of one turn of the event loop in one write.
    enableAutoPipelining: true,
    reconnectOnError: leaveReplica(),
  });
  redis.on('error', () => {});
  return redis;
}

/**
 * Keeps this process’ memory out of core dumps (core(5)). The memory holds the service’s secrets, and keys and
 * passwords before they are hashed. On systems without this setting, only the limit on core dumps protects it.
 */
export function keepMemoryOutOfDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Not Linux, or /proc is read-only.
  }
}
