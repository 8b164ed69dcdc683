import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Leave, leaveServer, repeat } from '@sotto/http';
import { isSwitchedOn, type MediaSwitches } from '@sotto/router';
import { EpochKeeper, forEachReachable, LeaseKeeper, leaseGraceMs, type State, shards } from '@sotto/state';
import { openTracing } from '@sotto/tracing';
import type { CapabilitiesAnswer, Operation } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { claimAccount } from './accounts/claim-account.ts';
import { ensureAccount } from './accounts/ensure-account.ts';
import { buildApp } from './app.ts';
import { AuditLoop } from './audit/audit-loop.ts';
import { type BillingOptions, buildBilling } from './billing/billing.ts';
import { CatalogKeeper } from './catalog/catalog-keeper.ts';
import type { ControlConfig, ControlSecrets } from './config.ts';
import { buildConnectedApps } from './connect/connected-apps.ts';
import { openDatabase } from './database/database.ts';
import { controlEvents } from './events.ts';
import { postgresSettlementLedger } from './ledger/settlement-ledger.ts';
import type { Mailer } from './mail/mail.ts';
import { ControlMetrics } from './metrics/control-metrics.ts';
import { postgresEpochLedger } from './projection/epoch-ledger.ts';
import { projectKeys } from './projection/project-keys.ts';
import { Projector } from './projection/projector.ts';
import { buildAuth } from './sessions/auth.ts';
import type { OpenidSettings } from './sessions/openid-provider.ts';
import { purgeExpired } from './sessions/purge.ts';
import { resealFactors } from './sessions/session-secrets.ts';
import { Settler } from './settler/settler.ts';

export interface ControlOptions {
  readonly state: State;
  readonly logger: Logger;
  readonly databaseUrl: string;
  readonly origin: string;
  /** The broker's public origin, without `/v1`; shown to people. */
  readonly confidentialOrigin: string;
  /** Further origins whose pages may call with a session. */
  readonly trustedOrigins: readonly string[];
  readonly catalogFile: string;
  readonly secrets: ControlSecrets;
  /** Which of the gated operations this deployment offers. */
  readonly media: MediaSwitches;
  /** Whether apps may connect (CONNECTED_APPS). Default: no. */
  readonly connectedApps?: boolean;
  readonly ticketTtlMs: number;
  readonly limits: ControlConfig['limits'];
  readonly limitsRedis: Redis | undefined;
  readonly trustProxy: ControlConfig['trustProxy'];
  readonly traces?: ControlConfig['traces'];
  /** True where no other process can hold anything in the state: in one process with the broker. */
  readonly isAlone?: boolean;
  readonly billing: BillingOptions;
  /** Absent: nothing is sent, and what a mail would have carried is handed over by whoever caused it, or not to be had. */
  readonly mailer?: Mailer | undefined;
  /** The operator's own OpenID provider. */
  readonly openid?: OpenidSettings | undefined;
  readonly now?: () => number;
}

export interface Control {
  readonly app: FastifyInstance;
  readonly metrics: ControlMetrics;
  readonly settler: Settler;
  readonly epochs: EpochKeeper;
  /**
   * Begins to publish the catalog and, once the database is migrated, to project it and to book settlements. It is not
   * ready before. `migrated` resolves to false where it will never be.
   */
  start(migrated?: Promise<boolean>): Promise<void>;
  /** Reads the catalog file again (SIGHUP). */
  reload(): void;
  /** Stops taking requests, books what is there and closes what was opened here. */
  stop(leave: Leave): Promise<void>;
}

const catalogMs = 500;
const leaseMs = 1_000;
const epochMs = 500;
/** While a shard is to be opened, it is looked at this often. */
const unsettledMs = 50;
const resealMs = 60_000;
const traceMs = 2_000;
const projectMs = 500;
/** A page of everything is projected anew this often, needed or not. */
const refreshMs = 2_000;
const settleMs = 50;
/** What was set aside as unbookable is tried again at the start, where a new version may book it, and this often. */
const rebookMs = 3_600_000;
const reapMs = 2_000;
const auditMs = 10_000;
const measureMs = 2_000;
const purgeMs = 600_000;

/** Puts the control plane together. Opens no port before `app.listen`. */
export async function buildControl(options: ControlOptions): Promise<Control> {
  const { state, logger, secrets, origin, limits, now = Date.now } = options;
  const metrics = new ControlMetrics();
  const events = metrics.counting(controlEvents(logger));
  const { pool, db, close } = openDatabase(options.databaseUrl);
  const { other } = secrets;
  const accountRefKeys = withOther(secrets.accountRefKey, other?.accountRefKey);
  const settlementMacKeys = withOther(secrets.settlementMacKey, other?.settlementMacKey);
  const sessionSecrets = withOther(secrets.sessionSecret, other?.sessionSecret);
  const projector = new Projector({ pool, state, accountRefKey: secrets.accountRefKey, limits, events });
  let stopping = false;
  const failed = (task: string) => (error: unknown) => {
    if (!stopping) events.taskFailed(task, error);
  };
  // Where the state is away or being rebuilt, the account is projected with whatever else has changed.
  const onAccountMade = ({ accountId }: { accountId: string }): Promise<void> =>
    projector.account(accountId).catch(failed('projection'));
  const tracing =
    options.traces &&
    openTracing({
      ...options.traces,
      ...{ service: 'sotto-control', now },
      onLost: (spans) => events.tracesLost({ spans }),
    });
  const auth = buildAuth({
    db,
    secrets: sessionSecrets,
    origin,
    trustedOrigins: options.trustedOrigins,
    onSignUp: async ({ id, email }) => onAccountMade(await ensureAccount(pool, { id, name: email })),
    onClaimed: async (userId) => projectKeys(projector, await claimAccount(pool, userId)),
    mailer: options.mailer,
    onMailFailed: failed('mail'),
    openid: options.openid,
    now,
  });
  const keeper = new CatalogKeeper({ state, file: options.catalogFile, events, now });
  const settler = new Settler({
    ledger: postgresSettlementLedger(pool),
    state,
    settlementMacKey: settlementMacKeys,
    accountRefKey: accountRefKeys,
    events,
  });
  const leases = new LeaseKeeper({ state, declare: () => undefined });
  const epochs = new EpochKeeper({
    state,
    ledger: postgresEpochLedger({ pool, projector, settler, accountRefKey: accountRefKeys }),
    macKey: settlementMacKeys,
    now: () => performance.now(),
    isAlone: options.isAlone ?? false,
    onOpened: (opened) => events.epochsOpened({ shards: opened }),
    onUndeclared: (shard, clients) => events.undeclared({ shard, clients: clients.length }),
    onUnreadable: (shard, reason) => events.declarationRefused({ shard, reason }),
  });
  const audit = new AuditLoop({
    pool,
    state,
    metrics,
    events,
    now,
    sleep: (ms) => sleep(ms, undefined, { ref: false }),
  });
  const billing = buildBilling({
    ...options.billing,
    pool,
    events,
    project: (accountId) => projector.account(accountId),
    origin,
    now,
  });
  const connectedApps = options.connectedApps
    ? buildConnectedApps({ pool, projector, origin, sessionSecrets, events, now })
    : undefined;
  const offers = (operation: Operation): boolean =>
    isSwitchedOn(options.media, operation) && keeper.isServed(operation);
  const capabilities = (): CapabilitiesAnswer => ({
    image_generation: { enabled: offers('image') },
    speech_synthesis: { enabled: offers('speech') },
    connected_apps: { enabled: connectedApps !== undefined },
  });
  let hasDatabase = false;

  const app = await buildApp({
    sessions: { auth, pool, allowedOrigins: [origin, ...options.trustedOrigins], onAccountMade },
    sessionSecrets,
    projector,
    state,
    catalog: { keeper, capabilities },
    tickets: {
      state,
      projector,
      keeper,
      offers,
      ticketSealingKey: secrets.ticketSealingKey,
      accountRefKey: secrets.accountRefKey,
      ticketForm: () => epochs.ticketForm,
      ticketTtlMs: options.ticketTtlMs,
      now,
    },
    billing,
    connectedApps,
    mailer: options.mailer,
    limits: { control: limits.control, minting: limits.requests * 2, redis: options.limitsRedis },
    origin,
    confidentialOrigin: options.confidentialOrigin,
    dashboardFolder: fileURLToPath(new URL('.', import.meta.resolve('@sotto/dashboard/built/index.html'))),
    events,
    isReady: async () => {
      if (stopping || !hasDatabase || keeper.catalog === undefined || !(await state.isReady())) return false;
      return pool.query('select 1').then(
        () => true,
        () => false,
      );
    },
    trustProxy: options.trustProxy,
    traces: tracing,
    now,
  });

  const catalogTasks = [
    repeat(catalogMs, () => keeper.follow(), failed('catalog')),
    repeat(measureMs, () => keeper.refreshMeasurements(), failed('measurements')),
    ...(tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush(), failed('traces'))]),
  ];
  const databaseTasks = [
    repeat(leaseMs, () => leases.renew(), failed('leases')),
    repeat(
      epochMs,
      async () => {
        await epochs.maintain();
        if (!epochs.isSettled) await new Promise((resolve) => setTimeout(resolve, unsettledMs));
        return !epochs.isSettled;
      },
      failed('epochs'),
    ),
    repeat(projectMs, () => projector.catchUp(), failed('projection')),
    repeat(refreshMs, () => projector.refresh(), failed('refresh')),
    repeat(
      settleMs,
      async () => {
        const isMore = await settler.settleAll();
        if (!isMore) metrics.settledAt.set(now() / 1000);
        return isMore;
      },
      failed('settler'),
    ),
    repeat(rebookMs, () => settler.rebook(), failed('rebook')),
    repeat(auditMs, () => audit.step(), failed('audit')),
    repeat(
      reapMs,
      async () => {
        const failure = await forEachReachable(shards, async (shard) => {
          const holds = await state.reap(shard, leaseGraceMs);
          if (holds > 0) events.reaped({ shard, holds });
        });
        if (failure !== undefined) throw failure;
      },
      failed('reaper'),
    ),
    repeat(purgeMs, () => purgeExpired(pool, now()), failed('purge')),
    repeat(resealMs, () => resealFactors(pool, sessionSecrets), failed('reseal')),
    ...billing.tasks(failed),
    ...(connectedApps?.tasks(failed) ?? []),
  ];

  return {
    app,
    metrics,
    settler,
    epochs,
    async start(migrated = Promise.resolve(true)) {
      await keeper.follow().catch(failed('catalog'));
      for (const task of catalogTasks) task.start();
      void migrated.then((isMigrated) => {
        if (!isMigrated || stopping) return;
        hasDatabase = true;
        for (const task of databaseTasks) task.start();
      });
    },
    reload: () => keeper.reload(),
    async stop(leave) {
      stopping = true;
      await leaveServer(app, leave);
      for (const task of [...catalogTasks, ...databaseTasks]) await task.stop();
      for (let more = true, rounds = 0; more && rounds < 100; rounds += 1)
        more = await settler.settleAll().catch(() => false);
      options.mailer?.close();
      await tracing?.flush();
      await leases.leave();
      await close();
    },
  };
}

const withOther = <T>(present: T, other: T | undefined): readonly [T, ...T[]] =>
  other === undefined ? [present] : [present, other];
