import { readFile } from 'node:fs/promises';
import { createMetricsApp, exitMessage, listenBacklog, listenProblem, openLogOutlet } from '@sotto/http';
import { controlClient, createRedisState, leaveReplica, readRedisUrl } from '@sotto/state';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { readBillingPlan } from '../billing/billing-settings.ts';
import { builtInCatalog } from '../catalog/built-in-catalog.ts';
import { readConfig } from '../config.ts';
import { migrateDatabase } from '../database/database.ts';
import { smtpMail } from '../mail/smtp-mail.ts';
import { buildControl } from '../wiring.ts';
import { CliError, type CliProcess } from './cli-process.ts';
import { keepMemoryOutOfDumps } from './core-dumps.ts';

/**
 * Runs the control plane until SIGTERM or SIGINT. While the database is still coming up it listens already: it is not
 * ready, its public reads go on, and everybody else is told to come back.
 */
export async function serve(context: CliProcess): Promise<number> {
  keepMemoryOutOfDumps();
  // Node itself would print the error as it is: a query's, say, quotes a row.
  process.on('uncaughtException', (error) => {
    process.stderr.write(exitMessage('sotto-control', error));
    process.exit(1);
  });
  const read = readConfig(context.environment);
  if (!read.ok) throw new CliError(read.message);
  const config = read.settings;
  const { catalogFile = builtInCatalog } = config;
  await readFile(catalogFile).catch(() => {
    throw new CliError(`CATALOG_FILE is \`${catalogFile}\`: it takes the path of a readable file`);
  });
  const plan = await readBillingPlan(config.billing.file);
  if (!plan.ok) throw new CliError(plan.message);
  const outlet = openLogOutlet();
  process.on('exit', () => outlet.end());
  const logger = pino({ level: config.logLevel, base: { process: 'control' } }, outlet);
  const stopped = new Promise<void>((resolve) => {
    process.on('SIGTERM', resolve);
    process.on('SIGINT', resolve);
  });
  let wanted = true;
  void stopped.then(() => {
    wanted = false;
  });
  const migrated = async (): Promise<boolean> => {
    while (wanted) {
      const failure = await migrateDatabase(config.databaseUrl).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined) return true;
      logger.warn({ error: failure instanceof Error ? failure.name : 'error' }, 'database not ready');
      await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 1000))]);
    }
    return false;
  };

  const onVolatile = config.isProduction ? (problem: string) => logger.error({ problem }, 'not ready') : undefined;
  const onDenied = (): void => {
    const fix = 'make its user anew with deploy/redis/acl-user.sh; `ACL LOG` names the command';
    logger.error({ fix }, "Redis refuses control's user a command");
  };
  const state = createRedisState({ url: config.redisUrl, newClient: controlClient, onVolatile, onDenied });
  const limitsRedis = openLimitsRedis(config.redisUrl);
  const control = await buildControl({
    state,
    logger,
    databaseUrl: config.databaseUrl,
    origin: config.origin,
    confidentialOrigin: config.confidentialOrigin,
    trustedOrigins: [],
    catalogFile,
    secrets: config.secrets,
    media: config.media,
    connectedApps: config.connectedApps,
    ticketTtlMs: config.ticketTtlMs,
    limits: config.limits,
    limitsRedis,
    trustProxy: config.trustProxy,
    traces: config.traces,
    billing: { plan: plan.settings, rails: config.billing.rails },
    mailer: config.signIn.smtp && smtpMail(config.signIn.smtp),
    openid: config.signIn.openid,
  });
  process.on('SIGHUP', () => control.reload());
  await control.start(migrated());
  const unheard = (variable: string) => (error: unknown) => {
    wanted = false;
    const problem = listenProblem(error, variable);
    throw problem === undefined ? error : new CliError(problem);
  };
  await control.app
    .listen({ host: config.host, port: config.port, backlog: listenBacklog })
    .catch(unheard('CONTROL_PORT'));
  const { metricsPort: port } = config;
  const metrics = createMetricsApp([control.metrics.withProcess().registry]);
  if (port !== undefined) {
    await metrics.listen({ host: config.host, port }).catch(unheard('METRICS_PORT'));
  }
  await stopped;
  process.once('SIGINT', () => process.exit(1));
  await control.stop(config.drain);
  await metrics.close();
  limitsRedis?.disconnect();
  await state.close();
  return 0;
}

/** Rate limits of control are shared through Redis where it is a single server; on a cluster each process counts alone. */
function openLimitsRedis(url: string): Redis | undefined {
  const { nodes, cluster, auth } = readRedisUrl(url);
  const [node] = nodes;
  if (cluster || node === undefined) return undefined;
  const redis = new Redis({
    ...auth,
    ...node,
    connectTimeout: 500,
    // Limits guard no money: a Redis that hangs must cost a request this much and no more.
    commandTimeout: 150,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    reconnectOnError: leaveReplica(),
  });
  redis.on('error', () => {});
  return redis;
}
