import { setTimeout as sleep } from 'node:timers/promises';
import type { CapabilitiesAnswer } from '@sotto/contract/control/catalog';
import { isSwitchedOn } from '@sotto/router';
import { repeat, setting } from '@sotto/server';
import type { Operation } from '@sotto/wire';
import { buildAccountDeletion, endDeleted } from './account-deletion/account-deletion.ts';
import { buildAlerts } from './alerts/alerts.ts';
import { buildBilling } from './billing/billing.ts';
import { adviseOnEmpty } from './billing/monthly-grants/account-grant.ts';
import { watchMemory } from './capacity/watch-memory.ts';
import { buildCatalog } from './catalog/catalog.ts';
import type { PlaneUptime } from './catalog/plane-uptime.ts';
import type { Domain } from './domain.ts';
import { buildKeys } from './keys/keys.ts';
import { buildMoneyAudit } from './money-audit/money-audit.ts';
import { buildOperator } from './operator/operator.ts';
import { isInvitedToSignUp } from './operator/sign-up-invitations.ts';
import type { ControlOptions, Parts } from './parts.ts';
import { buildProjection } from './projection/projector.ts';
import { buildScim } from './provisioning/scim/scim.ts';
import { buildRouting } from './routing/routing.ts';
import { buildSettlement } from './settler/settler.ts';
import { buildSignIn } from './sign-in/sign-in.ts';
import { buildTickets } from './tickets/tickets.ts';
import { buildUsage } from './usage/usage.ts';
import type { Issuer } from './wallets/issuer.ts';
import type { WalletDependencies } from './wallets/wallets.ts';
import { buildWorkspaces } from './workspaces/workspaces.ts';

const traceMs = 2_000;
const metricsMs = 15_000;
/** Less than a minute, so that no minute is left out. */
const noteMs = 20_000;

/** Returns the domains whose tasks need no database. They run during migrations. */
export function earlyDomains(parts: Parts, options: ControlOptions, uptime: PlaneUptime): readonly Domain[] {
  const { keeper, connect, tracing, sendMetrics } = parts;
  const offers = offersOf(parts, options);
  const capabilities = (): CapabilitiesAnswer => ({
    image_generation: { enabled: offers('image') },
    speech_synthesis: { enabled: offers('speech') },
    connected_apps: { enabled: connect !== undefined },
    anonymous_wallets: { enabled: options.issuer !== undefined },
    separate_processes: { enabled: !parts.isAlone },
  });
  return [
    buildCatalog({ keeper, capabilities, planes: () => uptime.planes }),
    { tasks: (failed) => (tracing === undefined ? [] : [repeat(traceMs, () => tracing.flush(), failed('traces'))]) },
    { tasks: (failed) => (sendMetrics === undefined ? [] : [repeat(metricsMs, sendMetrics, failed('metrics'))]) },
  ];
}

/** Returns the domains whose tasks need the database, in the order in which they start and stop. */
export async function lateDomains(
  parts: Parts,
  options: ControlOptions,
  uptime: PlaneUptime,
): Promise<readonly Domain[]> {
  const { state, pool, metrics, events, limits, maxima, mailer, origin, sessionSecrets, now } = parts;
  const { projector, project, settler, shards, keeper, grants, signUp, connect, isAlone } = parts;
  const { config } = options;
  const controlLimit = limits.control;
  const billing = await buildBilling({ ...config.billing, plan: options.plan, pool, events, project, origin, now });
  return [
    shards,
    watchMemory(state, metrics),
    { tasks: (failed) => [repeat(noteMs, () => uptime.note(), failed('plane_uptime'))] },
    buildProjection({ projector, databaseUrl: config.DATABASE_URL, isAlone }),
    buildSettlement({ settler, metrics, now, isAlone }),
    buildMoneyAudit({ pool, state, metrics, events, now, sleep: (ms) => sleep(ms, undefined, { ref: false }) }),
    buildSignIn({ pool, sessionSecrets, hasPasswords: config.signIn.hasPasswords, origin, controlLimit, now }),
    ticketDomain(parts, options),
    buildRouting({ pool, keeper, projector }),
    buildUsage({ pool, state, retention: config.USAGE_RETENTION_MONTHS, events, now }),
    buildKeys({ pool, projector, keeper, maxima, limits }),
    buildWorkspaces({
      ...{ pool, projector, keeper, origin, mailer, events, maxima, now, controlLimit },
      mayInvite: async (client, email) =>
        signUp.domains.length === 0 ||
        signUp.domains.includes(email.slice(email.lastIndexOf('@') + 1)) ||
        (await isInvitedToSignUp(client, email, now())),
    }),
    buildOperator({
      ...{ pool, projector, keeper, signUp, grants, mailer, origin, events, now },
      endDeleted: (accountId) =>
        endDeleted({ pool, projector, now, onFailed: parts.failed('account deletion') }, accountId),
    }),
    grants,
    buildAccountDeletion({ pool, projector, state, project }),
    buildAlerts({
      ...{ pool, sessionSecrets, origin, mailer, events, now },
      network: { networks: config.WEBHOOK_NETWORKS },
    }),
    billing,
    ...(config.signIn.scimToken === undefined
      ? []
      : [buildScim({ pool, projector, origin, map: config.signIn.groupRoles, token: config.signIn.scimToken })]),
    ...(connect === undefined ? [] : [connect]),
    ...(await walletDomains(parts, options.issuer, billing)),
  ];
}

function ticketDomain(parts: Parts, options: ControlOptions): Domain {
  const { state, pool, projector, keeper, shards, now } = parts;
  const { config } = options;
  const { confidentialOrigin } = config;
  const { monthlyGrantNusd } = config.billing;
  return buildTickets({
    ...{ state, projector, keeper, confidentialOrigin, now },
    offers: offersOf(parts, options),
    adviseOnEmpty: (accountId) => adviseOnEmpty({ pool, monthlyGrantNusd, now }, accountId),
    confidentialAddress: config.CONFIDENTIAL_ADDRESS,
    ticketSealingKey: config.TICKET_SEALING_KEY,
    accountRefKey: config.ACCOUNT_REF_KEY,
    areBrokersQuiet: () => shards.epochs.areBrokersQuiet,
    ticketTtlMs: config.TICKET_TTL_S * 1000,
  });
}

/** Loads the code of anonymous wallets only if they are on. */
async function walletDomains(
  { pool, state, projector, events, now }: Parts,
  issuer: Issuer | undefined,
  { orderWallet }: Pick<WalletDependencies, 'orderWallet'>,
): Promise<readonly Domain[]> {
  if (issuer === undefined) return [];
  const { buildWallets } = await import('./wallets/wallets.ts');
  return [buildWallets({ pool, state, projector, issuer, orderWallet, events, now })];
}

const offersOf =
  ({ keeper }: Parts, { config }: ControlOptions) =>
  (operation: Operation): boolean =>
    isSwitchedOn(setting.readMedia(config), operation) && keeper.isServed(operation);
