import { openMetricsExport, openTracing, setting } from '@sotto/server';
import type { State } from '@sotto/state';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { removeAccount } from './account-deletion/account-deletion.ts';
import { claimAccount } from './accounts/claim-account.ts';
import { ensureAccount, findAccount } from './accounts/ensure-account.ts';
import type { BillingPlan } from './billing/billing-plan.ts';
import { buildMonthlyGrants } from './billing/monthly-grants/monthly-grants.ts';
import { builtInCatalog } from './catalog/built-in-files.ts';
import { CatalogKeeper } from './catalog/catalog-keeper.ts';
import type { ControlConfig } from './config.ts';
import { disableApps } from './connect/apps/app-store.ts';
import { buildConnect, type Connect } from './connect/connect.ts';
import { openDatabase } from './database/database.ts';
import { DueWork } from './database/due-work.ts';
import { inTransaction } from './database/in-transaction.ts';
import { controlEvents } from './events.ts';
import { postgresSettlementLedger } from './ledger/settlement-ledger.ts';
import { readMaxima } from './limits/maximum-settings.ts';
import { type Mailer, namingService } from './mail/mail.ts';
import { ControlMetrics } from './metrics/control-metrics.ts';
import { projectKeys } from './projection/project-keys.ts';
import { Projector } from './projection/projector.ts';
import { signedInByProvider } from './provisioning/provisioned-people.ts';
import { buildAuth } from './sessions/auth.ts';
import { signUpPolicy } from './sessions/sign-up-policy.ts';
import { Settler } from './settler/settler.ts';
import { buildShards } from './shards/shards.ts';
import { changeAddress } from './sign-in/change-address.ts';
import type { Issuer } from './wallets/issuer.ts';
import { revokePermission } from './wallets/standing-permission.ts';
import { claimWorkspaces } from './workspaces/claim-workspaces.ts';

export interface ControlOptions {
  readonly config: ControlConfig;
  readonly state: State;
  readonly logger: Logger;
  /** Further origins whose pages may send requests with a session. */
  readonly trustedOrigins: readonly string[];
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

/** Everything that control consists of, before its domains. */
export type Parts = Base & Funds & ReturnType<typeof openAccounts> & { readonly connect: Connect | undefined };

/** Opens the parts of control, each after those that it needs. */
export function openParts(options: ControlOptions): Parts {
  const base = openBase(options);
  const funds = openFunds(base, options);
  return { ...base, ...funds, ...openAccounts(base, funds, options), connect: openConnect(base, options) };
}

type Base = ReturnType<typeof openBase>;
type Funds = ReturnType<typeof openFunds>;

function openBase(options: ControlOptions) {
  const { config, state, logger, isAlone = false, now = Date.now } = options;
  const { origin } = config;
  const mailer = options.mailer && namingService(options.mailer, origin);
  const limits = {
    requests: config.RATE_LIMIT_REQUESTS,
    tokens: config.RATE_LIMIT_TOKENS,
    control: config.RATE_LIMIT_CONTROL,
  };
  const maxima = readMaxima(config);
  const traces = setting.readTraces(config);
  const metrics = new ControlMetrics();
  const events = metrics.counting(controlEvents(logger));
  const { pool, db, close } = openDatabase(config.DATABASE_URL);
  const projector = new Projector({ pool, state, accountRefKey: config.ACCOUNT_REF_KEY, limits, events });
  const phase = { hasDatabase: false, isStopping: false };
  const failed =
    (task: string) =>
    (error: unknown): void => {
      if (!phase.isStopping) events.taskFailed(task, error);
    };
  return {
    ...{ state, origin, limits, maxima, mailer, isAlone, now, metrics, events, pool, db, close, projector, phase },
    accountRefKeys: setting.withOther(config.ACCOUNT_REF_KEY, config.OTHER_ACCOUNT_REF_KEY),
    settlementMacKeys: setting.withOther(config.SETTLEMENT_MAC_KEY, config.OTHER_SETTLEMENT_MAC_KEY),
    sessionSecrets: setting.withOther(config.SESSION_SECRET, config.OTHER_SESSION_SECRET),
    tracing:
      traces &&
      openTracing({
        ...traces,
        ...{ service: 'sotto-control', now },
        onLost: (spans) => events.tracesLost({ spans }),
      }),
    sendMetrics: openMetricsExport({
      ...{ service: 'sotto-control', url: config.METRICS_URL, registry: metrics.registry, now },
    }),
    project: (accountId: string): Promise<void> => projector.account(accountId),
    failed,
    due: new DueWork(pool, now, failed('due work')),
  };
}

/** Opens the catalog, and what books and grants money. */
function openFunds(base: Base, { config }: ControlOptions) {
  const { state, pool, projector, events, project, accountRefKeys, settlementMacKeys, mailer, isAlone, due, now } =
    base;
  const settler = new Settler({
    ledger: postgresSettlementLedger(pool),
    state,
    settlementMacKey: settlementMacKeys,
    accountRefKey: accountRefKeys,
    events,
    onBooked: () => due.wake(),
  });
  const keeper = new CatalogKeeper({ state, file: config.CATALOG_FILE ?? builtInCatalog, events, now });
  const { monthlyGrantNusd } = config.billing;
  const needsVerified = mailer?.how === 'sent';
  return {
    settler,
    keeper,
    shards: buildShards({
      ...{ pool, state, projector, settler, events },
      accountRefKey: accountRefKeys,
      settlementMacKey: settlementMacKeys,
      isAlone,
      // A state that lost its shards lost the catalog, too.
      onOpened: () => keeper.wake(),
    }),
    grants: buildMonthlyGrants({ pool, state, monthlyGrantNusd, needsVerified, project, now }),
  };
}

/** Opens accounts and how people sign in to them. */
function openAccounts(base: Base, { grants }: Funds, options: ControlOptions) {
  const { pool, db, projector, project, failed, mailer, maxima, origin, now } = base;
  const { signIn } = options.config;
  const claimSteps = [claimWorkspaces, disableApps];
  // If the state is unavailable or being rebuilt, the projector catches up with the account later.
  const onAccountCreated = async ({ accountId }: { accountId: string }): Promise<void> => {
    await grants.giveTo(accountId).catch(failed('monthly grants'));
    await project(accountId).catch(failed('projection'));
  };
  // If it fails, a task gives the grant later, and the deletion of the account remembers its identities.
  const onIdentityChanged = async (userId: string): Promise<void> => {
    const account = await findAccount(pool, userId).catch(failed('monthly grants'));
    if (account !== undefined) await grants.giveTo(account.accountId).catch(failed('monthly grants'));
  };
  const signUp = signUpPolicy(pool, signIn.signUp, now);
  const auth = buildAuth({
    db,
    secrets: base.sessionSecrets,
    origin,
    trustedOrigins: options.trustedOrigins,
    onSignUp: async ({ id, email }) => {
      await onAccountCreated(await ensureAccount(pool, { id, name: email }));
      // With mail, an invitation stays until its address is verified. Otherwise a stranger could use it up.
      if (mailer === undefined) await pool.query('delete from sign_up_invitations where email = $1', [email]);
    },
    onIdentityChanged,
    changeAddress: async (userId, email) => {
      const isChanged = await changeAddress(pool, userId, email);
      if (isChanged) await onIdentityChanged(userId);
      return isChanged;
    },
    onPasswordSet: async (userId) => {
      // A stranger with a session may have made a permission to withdraw credits, which works without a session.
      const account = await findAccount(pool, userId);
      if (account !== undefined) await revokePermission(pool, account.accountId);
    },
    onClaimed: async (userId) => projectKeys(projector, await claimAccount(pool, userId, claimSteps)),
    deleteAccount: (userId) => removeAccount({ pool, projector, now, onFailed: failed('account deletion') }, userId),
    mailer,
    maxPasskeys: maxima.passkeys,
    onMailFailed: failed('mail'),
    hasPasswords: signIn.hasPasswords,
    openid: signIn.openid,
    onOpenidSignIn: async (id, claims) => {
      const { accountId } = await ensureAccount(pool, { id, name: claims.email });
      const map = signIn.groupRoles;
      const keyIds = await inTransaction(pool, (client) => signedInByProvider(client, { accountId, claims }, { map }));
      await projectKeys(projector, keyIds);
    },
    signUp,
    now,
  });
  return { auth, signUp, onAccountCreated };
}

/** Undefined: no apps may connect. */
function openConnect(base: Base, { config }: ControlOptions): Connect | undefined {
  const { pool, projector, origin, sessionSecrets, events, maxima, now } = base;
  return config.CONNECTED_APPS === 'on'
    ? buildConnect({ pool, projector, origin, sessionSecrets, events, maxima, now })
    : undefined;
}
