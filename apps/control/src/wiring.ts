import type { BlockList } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Maxima } from '@sotto/contract';
import { isSwitchedOn, type MediaSwitches } from '@sotto/router';
import { type Leave, leaveServer, openTracing, repeat } from '@sotto/server';
import type { EpochKeeper, State } from '@sotto/state';
import type { CapabilitiesAnswer, Operation } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { buildAccountDeletion, removeAccount } from './account-deletion/account-deletion.ts';
import { claimAccount, ensureAccount, findAccount } from './accounts/ensure-account.ts';
import { buildAlerts } from './alerts/alerts.ts';
import { buildApp } from './app.ts';
import { type BillingOptions, buildBilling } from './billing/billing.ts';
import { adviseOnEmpty } from './billing/monthly-grants/account-grant.ts';
import { buildMonthlyGrants } from './billing/monthly-grants/monthly-grants.ts';
import { watchMemory } from './capacity/watch-memory.ts';
import { buildCatalog } from './catalog/catalog.ts';
import { CatalogKeeper } from './catalog/catalog-keeper.ts';
import { PlaneUptime } from './catalog/plane-uptime.ts';
import type { ControlConfig, ControlSecrets } from './config.ts';
import { disableApps } from './connect/apps/app-store.ts';
import { buildConnect } from './connect/connect.ts';
import type { Address } from './connect-to.ts';
import { openDatabase } from './database/database.ts';
import { statusOf } from './doctor/origins.ts';
import type { Domain } from './domain.ts';
import { controlEvents } from './events.ts';
import { buildKeys } from './keys/keys.ts';
import { postgresSettlementLedger } from './ledger/settlement-ledger.ts';
import type { Mailer } from './mail/mail.ts';
import { ControlMetrics } from './metrics/control-metrics.ts';
import { buildMoneyAudit } from './money-audit/money-audit.ts';
import { buildOperator } from './operator/operator.ts';
import { buildPages, openDashboard } from './pages/dashboard.ts';
import { projectKeys } from './projection/project-keys.ts';
import { buildProjection, Projector } from './projection/projector.ts';
import { buildRouting } from './routing/routing.ts';
import { buildAuth } from './sessions/auth.ts';
import type { OpenidSettings } from './sessions/openid-provider.ts';
import { type SignUpSettings, signUpPolicy } from './sessions/sign-up-policy.ts';
import { buildSettlement, Settler } from './settler/settler.ts';
import { buildShards } from './shards/shards.ts';
import { buildSignIn } from './sign-in/sign-in.ts';
import { buildTickets } from './tickets/tickets.ts';
import { buildUsage } from './usage/usage.ts';
import type { Issuer } from './wallets/issuer.ts';
import { claimWorkspaces } from './workspaces/claim-workspaces.ts';
import { buildWorkspaces } from './workspaces/workspaces.ts';

export interface ControlOptions {
  readonly state: State;
  readonly logger: Logger;
  readonly databaseUrl: string;
  readonly origin: string;
  /** The broker’s public origin, without `/v1`. It is shown to people. */
  readonly confidentialOrigin: string;
  /** Where to reach the broker, if its origin's name leads elsewhere. */
  readonly confidentialAddress?: Address | undefined;
  /** Further origins whose pages may send requests with a session. */
  readonly trustedOrigins: readonly string[];
  readonly catalogFile: string;
  readonly secrets: ControlSecrets;
  /** The media operations that this deployment offers. */
  readonly media: MediaSwitches;
  /** Whether apps may connect (CONNECTED_APPS). Default: no. */
  readonly connectedApps?: boolean;
  /** The issuer of credits, if anonymous wallets are on (ANONYMOUS_WALLETS). */
  readonly issuer?: Issuer | undefined;
  readonly ticketTtlMs: number;
  /** Months for which the rows of single requests are kept (USAGE_RETENTION_MONTHS). Default: for ever. */
  readonly usageRetention?: number | undefined;
  readonly limits: ControlConfig['limits'];
  /** The most that one account may have. */
  readonly maxima: Maxima;
  readonly limitsRedis: Redis | undefined;
  readonly trustProxy: ControlConfig['trustProxy'];
  readonly traces?: ControlConfig['traces'];
  /** True if no other process can hold anything in the state: in one process with the broker. */
  readonly isAlone?: boolean;
  readonly billing: BillingOptions;
  /**
   * Undefined: no mail is sent. Inviters then pass on the links of their invitations, and passwords cannot be reset by
   * mail.
   */
  readonly mailer?: Mailer | undefined;
  /** Networks that webhooks of workspaces may reach besides public addresses. */
  readonly webhookNetworks?: BlockList | undefined;
  /** The operator’s own OpenID provider. */
  readonly openid?: OpenidSettings | undefined;
  /** Default: as without `SIGN_UP`. */
  readonly signUp?: SignUpSettings;
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
  const { state, logger, secrets, origin, limits, mailer, now = Date.now } = options;
  const { maxima } = options;
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
  const { monthlyGrantNusd } = options.billing;
  const project = (accountId: string): Promise<void> => projector.account(accountId);
  const needsVerified = mailer?.how === 'sent';
  const grants = buildMonthlyGrants({ pool, state, monthlyGrantNusd, needsVerified, project, now });
  // If the state is unavailable or being rebuilt, the projector catches up with the account later.
  const onAccountCreated = async ({ accountId }: { accountId: string }): Promise<void> => {
    await grants.giveTo(accountId).catch(failed('monthly grants'));
    await project(accountId).catch(failed('projection'));
  };
  const tracing =
    options.traces &&
    openTracing({
      ...options.traces,
      ...{ service: 'sotto-control', now },
      onLost: (spans) => events.tracesLost({ spans }),
    });
  const claimSteps = [claimWorkspaces, disableApps];
  const signUp = signUpPolicy(pool, options.signUp ?? { mode: undefined, domains: [] }, now);
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
    openid: options.openid,
    signUp,
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
  const shards = buildShards({
    ...{ pool, state, projector, settler, events },
    accountRefKey: accountRefKeys,
    settlementMacKey: settlementMacKeys,
    isAlone: options.isAlone ?? false,
  });
  const connect = options.connectedApps
    ? buildConnect({ pool, projector, origin, sessionSecrets, events, maxima, now })
    : undefined;
  const offers = (operation: Operation): boolean =>
    isSwitchedOn(options.media, operation) && keeper.isServed(operation);
  const capabilities = (): CapabilitiesAnswer => ({
    image_generation: { enabled: offers('image') },
    speech_synthesis: { enabled: offers('speech') },
    connected_apps: { enabled: connect !== undefined },
    anonymous_wallets: { enabled: options.issuer !== undefined },
  });
  let hasDatabase = false;

  const { confidentialOrigin } = options;
  const isReady = async (): Promise<boolean> => {
    if (stopping || !hasDatabase || keeper.catalog === undefined || !(await state.isReady())) return false;
    return pool.query('select 1').then(
      () => true,
      () => false,
    );
  };
  const uptime = new PlaneUptime({
    ...{ pool, isReady, now },
    // The broker may have a certificate of its own.
    isBrokerReady: async () =>
      (await statusOf(confidentialOrigin, '/readyz', options.confidentialAddress, { rejectUnauthorized: false })) ===
      200,
  });
  const dashboard = openDashboard({
    folder: fileURLToPath(new URL('.', import.meta.resolve('@sotto/dashboard/built/index.html'))),
    confidentialOrigin,
  });
  const billing = await buildBilling({ ...options.billing, pool, events, project, origin, now });
  /** Domains whose tasks need no database. They run during migrations. */
  const early: readonly Domain[] = [
    buildCatalog({ keeper, capabilities, planes: () => uptime.planes }),
    { tasks: (failed) => (tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush(), failed('traces'))]) },
  ];
  const late: readonly Domain[] = [
    shards,
    watchMemory(state, metrics),
    { tasks: (failed) => [repeat(noteMs, () => uptime.note(), failed('plane_uptime'))] },
    buildProjection(projector, options.databaseUrl),
    buildSettlement({ settler, metrics, now, isAlone: options.isAlone ?? false }),
    buildMoneyAudit({ pool, state, metrics, events, now, sleep: (ms) => sleep(ms, undefined, { ref: false }) }),
    buildSignIn({ pool, sessionSecrets, origin, controlLimit: limits.control, now }),
    buildTickets({
      ...{ state, projector, keeper, offers, confidentialOrigin, now },
      adviseOnEmpty: (accountId) => adviseOnEmpty({ pool, monthlyGrantNusd, now }, accountId),
      confidentialAddress: options.confidentialAddress,
      ticketSealingKey: secrets.ticketSealingKey,
      accountRefKey: secrets.accountRefKey,
      ticketForm: () => shards.epochs.ticketForm,
      ticketTtlMs: options.ticketTtlMs,
    }),
    buildRouting({ pool, keeper, projector }),
    buildUsage({ pool, state, retention: options.usageRetention, events, now }),
    buildKeys({ pool, projector, keeper, maxima, limits }),
    buildWorkspaces({ pool, projector, origin, mailer, events, maxima, now, controlLimit: limits.control }),
    buildOperator({ pool, projector, keeper, signUp, grants, mailer, origin, events, now }),
    grants,
    buildAccountDeletion({ pool, projector, state, project }),
    buildAlerts({
      ...{ pool, sessionSecrets, origin, mailer, events, now },
      network: { networks: options.webhookNetworks },
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
    trustProxy: options.trustProxy,
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

const withOther = <T>(present: T, other: T | undefined): readonly [T, ...T[]] =>
  other === undefined ? [present] : [present, other];
