import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isSwitchedOn } from '@sotto/router';
import { type Leave, leaveServer, openTracing, repeat, setting } from '@sotto/server';
import type { EpochKeeper, State } from '@sotto/state';
import type { CapabilitiesAnswer, Operation } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { buildAccountDeletion, removeAccount } from './account-deletion/account-deletion.ts';
import { claimAccount, ensureAccount, findAccount } from './accounts/ensure-account.ts';
import { buildAlerts } from './alerts/alerts.ts';
import { buildApp } from './app.ts';
import { buildAudit } from './audit/audit.ts';
import { buildBilling } from './billing/billing.ts';
import type { BillingPlan } from './billing/billing-plan.ts';
import { adviseOnEmpty } from './billing/monthly-grants/account-grant.ts';
import { buildMonthlyGrants } from './billing/monthly-grants/monthly-grants.ts';
import { watchMemory } from './capacity/watch-memory.ts';
import { buildCatalog } from './catalog/catalog.ts';
import { builtInCatalog, CatalogKeeper } from './catalog/catalog-keeper.ts';
import { PlaneLife } from './catalog/plane-life.ts';
import type { ControlConfig } from './config.ts';
import { disableApps } from './connect/apps/app-store.ts';
import { buildConnect } from './connect/connect.ts';
import { openDatabase } from './database/database.ts';
import { statusOf } from './doctor/origins.ts';
import type { Domain } from './domain.ts';
import { controlEvents } from './events.ts';
import { buildKeys } from './keys/keys.ts';
import { postgresSettlementLedger } from './ledger/settlement-ledger.ts';
import { readMaxima } from './limits/maximum-settings.ts';
import type { Mailer } from './mail/mail.ts';
import { ControlMetrics } from './metrics/control-metrics.ts';
import { buildOperator } from './operator/operator.ts';
import { buildPages, openDashboard } from './pages/dashboard.ts';
import { projectKeys } from './projection/project-keys.ts';
import { buildProjection, Projector } from './projection/projector.ts';
import { buildRouting } from './routing/routing.ts';
import { buildAuth } from './sessions/auth.ts';
import { signUpPolicy } from './sessions/sign-up-policy.ts';
import { buildSettlement, Settler } from './settler/settler.ts';
import { buildShards } from './shards/shards.ts';
import { buildSignIn } from './sign-in/sign-in.ts';
import { buildTickets } from './tickets/tickets.ts';
import { buildUsage } from './usage/usage.ts';
import type { Issuer } from './wallets/issuer.ts';
import { claimWorkspaces } from './workspaces/claim-workspaces.ts';
import { buildWorkspaces } from './workspaces/workspaces.ts';

export interface ControlOptions {
  readonly config: ControlConfig;
  readonly state: State;
  readonly logger: Logger;
  /** Further origins whose pages may send requests with a session. */
  readonly trustedOrigins: readonly string[];
  /** The content of BILLING_FILE. */
  readonly plan: BillingPlan;
  /** The issuer of credits, if anonymous wallets are on (ANONYMOUS_WALLETS). */
  readonly issuer?: Issuer | undefined;
  readonly limitsRedis: Redis | undefined;
  /** True if no other process can hold anything in the state: in one process with the broker. */
  readonly isAlone?: boolean;
  /**
   * Undefined: no mail is sent. Inviters then pass on the links of their invitations, and passwords cannot be reset by
   * mail.
   */
  readonly mailer?: Mailer | undefined;
  readonly now?: () => number;
}

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

const traceMs = 2_000;
/** Less than a minute, so that no minute is left out. */
const noteMs = 20_000;

/** Builds the control plane. It opens no port before `app.listen`. */
export async function buildControl(options: ControlOptions): Promise<Control> {
  const { config, state, logger, mailer, now = Date.now } = options;
  const { origin, confidentialOrigin } = config;
  const { monthlyGrantNusd } = config.billing;
  const limits = {
    requests: config.RATE_LIMIT_REQUESTS,
    tokens: config.RATE_LIMIT_TOKENS,
    control: config.RATE_LIMIT_CONTROL,
  };
  const maxima = readMaxima(config);
  const metrics = new ControlMetrics();
  const events = metrics.counting(controlEvents(logger));
  const { pool, db, close } = openDatabase(config.DATABASE_URL);
  const accountRefKeys = setting.withOther(config.ACCOUNT_REF_KEY, config.OTHER_ACCOUNT_REF_KEY);
  const settlementMacKeys = setting.withOther(config.SETTLEMENT_MAC_KEY, config.OTHER_SETTLEMENT_MAC_KEY);
  const sessionSecrets = setting.withOther(config.SESSION_SECRET, config.OTHER_SESSION_SECRET);
  const projector = new Projector({ pool, state, accountRefKey: config.ACCOUNT_REF_KEY, limits, events });
  let stopping = false;
  const failed = (task: string) => (error: unknown) => {
    if (!stopping) events.taskFailed(task, error);
  };
  const project = (accountId: string): Promise<void> => projector.account(accountId);
  const needsVerified = mailer?.how === 'sent';
  const grants = buildMonthlyGrants({ pool, state, monthlyGrantNusd, needsVerified, project, now });
  // If the state is unavailable or being rebuilt, the projector catches up with the account later.
  const onAccountCreated = async ({ accountId }: { accountId: string }): Promise<void> => {
    await grants.giveTo(accountId).catch(failed('monthly grants'));
    await project(accountId).catch(failed('projection'));
  };
  const traces = setting.readTraces(config);
  const tracing =
    traces &&
    openTracing({
      ...traces,
      ...{ service: 'sotto-control', now },
      onLost: (spans) => events.tracesLost({ spans }),
    });
  const claimSteps = [claimWorkspaces, disableApps];
  const signUp = signUpPolicy(pool, config.signIn.signUp, now);
  const auth = buildAuth({
    db,
    secrets: sessionSecrets,
    origin,
    trustedOrigins: options.trustedOrigins,
    onSignUp: async ({ id, email }) => {
      await onAccountCreated(await ensureAccount(pool, { id, name: email }));
      // With mail, an invitation stays until its address is verified. Otherwise a stranger could use it up.
      if (mailer === undefined) await pool.query('delete from sign_up_invitations where email = $1', [email]);
    },
    // If it fails, a task gives the grant later, and the deletion of the account remembers its identities.
    onIdentityChanged: async (userId) => {
      const account = await findAccount(pool, userId).catch(failed('monthly grants'));
      if (account !== undefined) await grants.giveTo(account.accountId).catch(failed('monthly grants'));
    },
    onClaimed: async (userId) => projectKeys(projector, await claimAccount(pool, userId, claimSteps)),
    deleteAccount: (userId) => removeAccount({ pool, projector, now, onFailed: failed('account deletion') }, userId),
    mailer,
    maxPasskeys: maxima.passkeys,
    onMailFailed: failed('mail'),
    openid: config.signIn.openid,
    signUp,
    now,
  });
  const keeper = new CatalogKeeper({ state, file: config.CATALOG_FILE ?? builtInCatalog, events, now });
  const settler = new Settler({
    ledger: postgresSettlementLedger(pool),
    state,
    settlementMacKey: settlementMacKeys,
    accountRefKey: accountRefKeys,
    events,
  });
  const shards = buildShards({
    ...{ pool, state, projector, settler, events },
    accountRefKey: accountRefKeys,
    settlementMacKey: settlementMacKeys,
    isAlone: options.isAlone ?? false,
  });
  const connect =
    config.CONNECTED_APPS === 'on'
      ? buildConnect({ pool, projector, origin, sessionSecrets, events, maxima, now })
      : undefined;
  const media = setting.readMedia(config);
  const offers = (operation: Operation): boolean => isSwitchedOn(media, operation) && keeper.isServed(operation);
  const capabilities = (): CapabilitiesAnswer => ({
    image_generation: { enabled: offers('image') },
    speech_synthesis: { enabled: offers('speech') },
    connected_apps: { enabled: connect !== undefined },
    anonymous_wallets: { enabled: options.issuer !== undefined },
  });
  let hasDatabase = false;

  const isReady = async (): Promise<boolean> => {
    if (stopping || !hasDatabase || keeper.catalog === undefined || !(await state.isReady())) return false;
    return pool.query('select 1').then(
      () => true,
      () => false,
    );
  };
  const life = new PlaneLife({
    ...{ pool, isReady, now },
    // The broker may have a certificate of its own.
    isBrokerReady: async () =>
      (await statusOf(confidentialOrigin, '/readyz', config.CONFIDENTIAL_ADDRESS, { rejectUnauthorized: false })) ===
      200,
  });
  const dashboard = openDashboard({
    folder: fileURLToPath(new URL('.', import.meta.resolve('@sotto/dashboard/built/index.html'))),
    confidentialOrigin,
  });
  const billing = await buildBilling({ ...config.billing, plan: options.plan, pool, events, project, origin, now });
  /** Domains whose tasks need no database. They run during migrations. */
  const early: readonly Domain[] = [
    buildCatalog({ keeper, capabilities, planes: () => life.planes }),
    { tasks: (failed) => (tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush(), failed('traces'))]) },
  ];
  const late: readonly Domain[] = [
    shards,
    watchMemory(state, metrics),
    { tasks: (failed) => [repeat(noteMs, () => life.note(), failed('plane_life'))] },
    buildProjection(projector, config.DATABASE_URL),
    buildSettlement({ settler, metrics, now, isAlone: options.isAlone ?? false }),
    buildAudit({ pool, state, metrics, events, now, sleep: (ms) => sleep(ms, undefined, { ref: false }) }),
    buildSignIn({ pool, sessionSecrets, origin, controlLimit: limits.control, now }),
    buildTickets({
      ...{ state, projector, keeper, offers, confidentialOrigin, now },
      adviseOnEmpty: (accountId) => adviseOnEmpty({ pool, monthlyGrantNusd, now }, accountId),
      confidentialAddress: config.CONFIDENTIAL_ADDRESS,
      ticketSealingKey: config.TICKET_SEALING_KEY,
      accountRefKey: config.ACCOUNT_REF_KEY,
      ticketForm: () => shards.epochs.ticketForm,
      ticketTtlMs: config.TICKET_TTL_S * 1000,
    }),
    buildRouting({ pool, keeper, projector }),
    buildUsage({ pool, state, retention: config.USAGE_RETENTION_MONTHS, events, now }),
    buildKeys({ pool, projector, keeper, maxima, limits }),
    buildWorkspaces({ pool, projector, origin, mailer, events, maxima, now, controlLimit: limits.control }),
    buildOperator({ pool, projector, keeper, signUp, grants, mailer, origin, events, now }),
    grants,
    buildAccountDeletion({ pool, projector, state, project }),
    buildAlerts({
      ...{ pool, sessionSecrets, origin, mailer, events, now },
      network: { networks: config.WEBHOOK_NETWORKS },
    }),
    billing,
    ...(connect === undefined ? [] : [connect]),
    ...(options.issuer === undefined
      ? []
      : [
          (await import('./wallets/wallets.ts')).buildWallets({
            pool,
            state,
            projector,
            issuer: options.issuer,
            orderWallet: billing.orderWallet,
            events,
            now,
          }),
        ]),
    buildPages({ dashboard }),
  ];

  const app = await buildApp({
    domains: [...early, ...late],
    sessions: { auth, pool, allowedOrigins: [origin, ...options.trustedOrigins], onAccountCreated },
    sessionSecrets,
    findAccessToken: connect?.findAccessToken,
    dashboard,
    confidentialOrigin,
    limits: { control: limits.control, requests: limits.requests, redis: options.limitsRedis },
    events,
    isReady,
    trustProxy: config.TRUST_PROXY,
    traces: tracing,
    now,
  });
  const tasksOf = (domains: readonly Domain[]) => domains.flatMap((domain) => domain.tasks?.(failed) ?? []);
  const [earlyTasks, lateTasks] = [tasksOf(early), tasksOf(late)];

  return {
    app,
    metrics,
    settler,
    epochs: shards.epochs,
    async start(migrated = Promise.resolve(true)) {
      await keeper.follow().catch(failed('catalog'));
      for (const task of earlyTasks) task.start();
      void migrated.then((isMigrated) => {
        if (!isMigrated || stopping) return;
        hasDatabase = true;
        for (const task of lateTasks) task.start();
        void signUp.mode().then(({ isInherited }) => {
          if (isInherited) events.signUpInherited();
        }, failed('sign-up'));
      });
    },
    reload: () => keeper.reload(),
    async stop(leave) {
      stopping = true;
      await leaveServer(app, leave);
      for (const task of [...earlyTasks, ...lateTasks]) await task.stop();
      for (let more = true, rounds = 0; more && rounds < 100; rounds += 1)
        more = await settler.settleAll().catch(() => false);
      mailer?.close();
      await tracing?.flush();
      await shards.leave();
      await close();
    },
  };
}
