import { fileURLToPath } from 'node:url';
import { type Leave, leaveServer } from '@sotto/server';
import type { EpochKeeper } from '@sotto/state';
import type { FastifyInstance } from 'fastify';
import { buildApp, type ControlAppOptions } from './app.ts';
import { PlaneUptime } from './catalog/plane-uptime.ts';
import { statusOf } from './doctor/origins.ts';
import { openDocumentation } from './documentation/documentation.ts';
import type { Domain } from './domain.ts';
import { earlyDomains, lateDomains } from './domains.ts';
import type { ControlMetrics } from './metrics/control-metrics.ts';
import { buildPages, openDashboard } from './pages/dashboard.ts';
import { type ControlOptions, openParts, type Parts } from './parts.ts';
import type { Settler } from './settler/settler.ts';

export interface Control {
  readonly app: FastifyInstance;
  readonly metrics: ControlMetrics;
  readonly settler: Settler;
  readonly epochs: EpochKeeper;
  /**
   * Starts to publish the catalog and, once the database is migrated, to project it and to book settlements. It is not
   * ready before that. `migrated` resolves to false if the migration will never succeed.
   */
  start(migrated?: Promise<boolean>): Promise<void>;
  /** Reads the catalog file again (SIGHUP). */
  reload(): void;
  /** Stops accepting requests, books pending settlements, and closes all connections that were opened here. */
  stop(leave: Leave): Promise<void>;
}

/** Builds the control plane. It opens no port before `app.listen`. */
export async function buildControl(options: ControlOptions): Promise<Control> {
  const parts = openParts(options);
  const isReady = readinessOf(parts);
  const dashboard = openDashboard({
    folder: fileURLToPath(new URL('.', import.meta.resolve('@sotto/dashboard/built/index.html'))),
    confidentialOrigin: options.config.confidentialOrigin,
  });
  const documentation = openDocumentation({
    controlOrigin: parts.origin,
    confidentialOrigin: options.config.confidentialOrigin,
  });
  const uptime = uptimeOf(parts, options, isReady);
  const early = earlyDomains(parts, options, uptime);
  const late = [...(await lateDomains(parts, options, uptime)), documentation, buildPages({ dashboard })];
  const app = await appOf(parts, options, { domains: [...early, ...late], dashboard, documentation, isReady });
  const { metrics, settler, shards, keeper } = parts;
  return {
    app,
    metrics,
    settler,
    epochs: shards.epochs,
    reload: () => keeper.reload(),
    ...runOf(parts, app, { early, late }),
  };
}

const readinessOf =
  ({ state, pool, keeper, phase }: Parts) =>
  async (): Promise<boolean> => {
    if (phase.isStopping || !phase.hasDatabase || keeper.catalog === undefined || !(await state.isReady()))
      return false;
    return pool.query('select 1').then(
      () => true,
      () => false,
    );
  };

const uptimeOf = ({ pool, now }: Parts, { config }: ControlOptions, isReady: () => Promise<boolean>): PlaneUptime =>
  new PlaneUptime({
    ...{ pool, isReady, now },
    // The broker may have a certificate of its own.
    isBrokerReady: async () =>
      (await statusOf(config.confidentialOrigin, '/readyz', config.CONFIDENTIAL_ADDRESS, {
        rejectUnauthorized: false,
      })) === 200,
  });

const appOf = (
  parts: Parts,
  options: ControlOptions,
  served: Pick<ControlAppOptions, 'domains' | 'dashboard' | 'documentation' | 'isReady'>,
): Promise<FastifyInstance> => {
  const { pool, auth, connect, origin, limits, sessionSecrets, events, metrics, tracing, onAccountCreated, due, now } =
    parts;
  return buildApp({
    ...served,
    sessions: { auth, pool, allowedOrigins: [origin, ...options.trustedOrigins], onAccountCreated },
    sessionSecrets,
    findAccessToken: connect?.findAccessToken,
    confidentialOrigin: options.config.confidentialOrigin,
    limits: { control: limits.control, requests: limits.requests, redis: options.limitsRedis },
    events,
    trustProxy: options.config.TRUST_PROXY,
    traces: tracing,
    onAnswered: metrics.answered,
    onWritten: () => due.wake(),
    now,
  });
};

/** Returns how control starts and stops. */
function runOf(
  { keeper, settler, shards, tracing, sendMetrics, mailer, failed, phase, due, close }: Parts,
  app: FastifyInstance,
  { early, late }: Readonly<Record<'early' | 'late', readonly Domain[]>>,
): Pick<Control, 'start' | 'stop'> {
  const tasksOf = (domains: readonly Domain[]) => domains.flatMap((domain) => domain.tasks?.(failed, due) ?? []);
  const [earlyTasks, lateTasks] = [tasksOf(early), [...tasksOf(late), due]];
  return {
    async start(migrated = Promise.resolve(true)) {
      await keeper.follow().catch(failed('catalog'));
      for (const task of earlyTasks) task.start();
      void migrated.then((isMigrated) => {
        if (!isMigrated || phase.isStopping) return;
        phase.hasDatabase = true;
        for (const task of lateTasks) task.start();
      });
    },
    async stop(leave) {
      phase.isStopping = true;
      await leaveServer(app, leave);
      for (const task of [...earlyTasks, ...lateTasks]) await task.stop();
      for (let more = true, rounds = 0; more && rounds < 100; rounds += 1)
        more = await settler.settleAll().then(
          ({ isMore }) => isMore,
          () => false,
        );
      mailer?.close();
      await tracing?.flush();
      await sendMetrics?.().catch(() => {});
      await shards.leave();
      await close();
    },
  };
}
