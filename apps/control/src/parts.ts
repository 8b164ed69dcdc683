import type { BlockList } from 'node:net';
import type { Maxima } from '@sotto/contract';
import type { MediaSwitches } from '@sotto/router';
import { openTracing } from '@sotto/server';
import type { State } from '@sotto/state';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { removeAccount } from './account-deletion/account-deletion.ts';
import { claimAccount, ensureAccount, findAccount } from './accounts/ensure-account.ts';
import type { BillingOptions } from './billing/billing.ts';
import { buildMonthlyGrants } from './billing/monthly-grants/monthly-grants.ts';
import { CatalogKeeper } from './catalog/catalog-keeper.ts';
import type { ControlConfig, ControlSecrets } from './config.ts';
import { disableApps } from './connect/apps/app-store.ts';
import { buildConnect, type Connect } from './connect/connect.ts';
import type { Address } from './connect-to.ts';
import { openDatabase } from './database/database.ts';
import { controlEvents } from './events.ts';
import { postgresSettlementLedger } from './ledger/settlement-ledger.ts';
import type { Mailer } from './mail/mail.ts';
import { ControlMetrics } from './metrics/control-metrics.ts';
import { projectKeys } from './projection/project-keys.ts';
import { Projector } from './projection/projector.ts';
import { buildAuth } from './sessions/auth.ts';
import type { OpenidSettings } from './sessions/openid-provider.ts';
import { type SignUpSettings, signUpPolicy } from './sessions/sign-up-policy.ts';
import { Settler } from './settler/settler.ts';
import { buildShards } from './shards/shards.ts';
import type { Issuer } from './wallets/issuer.ts';
import { claimWorkspaces } from './workspaces/claim-workspaces.ts';

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

/** Opens what all parts share. */
function openBase(options: ControlOptions) {
  const { state, logger, secrets, origin, limits, maxima, mailer, traces, isAlone = false, now = Date.now } = options;
  const metrics = new ControlMetrics();
  const events = metrics.counting(controlEvents(logger));
  const { pool, db, close } = openDatabase(options.databaseUrl);
  const { other } = secrets;
  const projector = new Projector({ pool, state, accountRefKey: secrets.accountRefKey, limits, events });
  const phase = { hasDatabase: false, isStopping: false };
  return {
    ...{ state, origin, limits, maxima, mailer, isAlone, now, metrics, events, pool, db, close, projector, phase },
    accountRefKeys: withOther(secrets.accountRefKey, other?.accountRefKey),
    settlementMacKeys: withOther(secrets.settlementMacKey, other?.settlementMacKey),
    sessionSecrets: withOther(secrets.sessionSecret, other?.sessionSecret),
    tracing:
      traces &&
      openTracing({
        ...traces,
        ...{ service: 'sotto-control', now },
        onLost: (spans) => events.tracesLost({ spans }),
      }),
    project: (accountId: string): Promise<void> => projector.account(accountId),
    failed: (task: string) => (error: unknown) => {
      if (!phase.isStopping) events.taskFailed(task, error);
    },
  };
}

/** Opens the catalog, and what books and grants money. */
function openFunds(base: Base, options: ControlOptions) {
  const { state, pool, projector, events, project, accountRefKeys, settlementMacKeys, mailer, isAlone, now } = base;
  const settler = new Settler({
    ledger: postgresSettlementLedger(pool),
    state,
    settlementMacKey: settlementMacKeys,
    accountRefKey: accountRefKeys,
    events,
  });
  const { monthlyGrantNusd } = options.billing;
  const needsVerified = mailer?.how === 'sent';
  return {
    settler,
    keeper: new CatalogKeeper({ state, file: options.catalogFile, events, now }),
    shards: buildShards({
      ...{ pool, state, projector, settler, events },
      accountRefKey: accountRefKeys,
      settlementMacKey: settlementMacKeys,
      isAlone,
    }),
    grants: buildMonthlyGrants({ pool, state, monthlyGrantNusd, needsVerified, project, now }),
  };
}

/** Opens accounts and how people sign in to them. */
function openAccounts(base: Base, { grants }: Funds, options: ControlOptions) {
  const { pool, db, projector, project, failed, mailer, maxima, origin, now } = base;
  const claimSteps = [claimWorkspaces, disableApps];
  // If the state is unavailable or being rebuilt, the projector catches up with the account later.
  const onAccountCreated = async ({ accountId }: { accountId: string }): Promise<void> => {
    await grants.giveTo(accountId).catch(failed('monthly grants'));
    await project(accountId).catch(failed('projection'));
  };
  const signUp = signUpPolicy(pool, options.signUp ?? { mode: undefined, domains: [] }, now);
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
  return { auth, signUp, onAccountCreated };
}

/** Undefined: no apps may connect. */
function openConnect(base: Base, options: ControlOptions): Connect | undefined {
  const { pool, projector, origin, sessionSecrets, events, maxima, now } = base;
  return options.connectedApps
    ? buildConnect({ pool, projector, origin, sessionSecrets, events, maxima, now })
    : undefined;
}

const withOther = <T>(present: T, other: T | undefined): readonly [T, ...T[]] =>
  other === undefined ? [present] : [present, other];
