import * as evidence from '@sotto/attestation/documents';
import * as wire from '@sotto/wire';
import type { Contracts } from '../contract.ts';
import { describeAsStated, describeRoutes } from '../describe-routes.ts';
import * as lists from '../lists.ts';
import * as receipt from '../provider-receipt.ts';
import type { OriginDescription } from '../route.ts';
import * as service from '../service.ts';
import * as alerts from './alerts.ts';
import * as audit from './audit.ts';
import * as billing from './billing.ts';
import * as catalog from './catalog.ts';
import * as connect from './connect.ts';
import * as email from './email.ts';
import * as invitations from './invitations.ts';
import * as keys from './keys.ts';
import * as operator from './operator.ts';
import * as orders from './orders.ts';
import * as passkeys from './passkeys.ts';
import * as webhooks from './payment-webhooks.ts';
import * as policies from './policies.ts';
import * as routing from './routing.ts';
import * as scim from './scim.ts';
import * as secondFactor from './second-factor.ts';
import * as sessions from './sessions.ts';
import { signInContracts } from './sign-in.ts';
import * as signInWays from './sign-in-ways.ts';
import * as tickets from './tickets.ts';
import * as usage from './usage.ts';
import * as user from './user.ts';
import * as wallets from './wallets.ts';
import * as workspaces from './workspaces.ts';

type Group = readonly [tag: string, routes: Contracts, statesAllErrors?: true];

/** The routes of the control origin in reading order, each with its tag, without those of every origin and its pages. */
const groups = [
  ['Tickets and evidence', tickets.ticketContracts],
  ['Catalog', catalog.catalogContracts],
  ['Routing', routing.routingContracts],
  ['Account', usage.usageContracts],
  ['Account', keys.keyContracts],
  ['Workspaces', workspaces.workspaceContracts],
  ['Workspaces', policies.policyContracts],
  ['Workspaces', alerts.alertContracts],
  ['Workspaces', invitations.invitationContracts],
  ['Billing', billing.billingContracts],
  ['Billing', orders.orderContracts],
  ['Anonymous wallets', wallets.walletContracts],
  ['Billing', webhooks.webhookContracts, true],
  ['Connected apps', connect.grantContracts],
  ['Connected apps', connect.appContracts],
  ['Connected apps', connect.interactionContracts],
  ['Sessions', signInContracts, true],
  ['Sessions', signInWays.openidLogoutContracts, true],
  ['Provisioning', scim.scimContracts, true],
  ['Administration', audit.auditContracts],
  ['Administration', operator.operatorContracts],
] as const satisfies readonly Group[];

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The contracts of the control origin, by route, without its pages. */
export type ControlContracts = Intersection<(typeof groups)[number][1]>;

/** The control origin: keys, tickets, catalog, routing, account and billing. Never content. */
export const controlOrigin: OriginDescription = {
  title: 'Sotto: control origin',
  description:
    'Knows accounts, keys and money, and never sees content. Prompts and answers are at the confidential origin, which has its own description.\n\nEvery route can also answer with the errors `not_found` (404), `method_not_allowed` (405), `request_timeout` (408), `expectation_failed` (417) and `header_fields_too_large` (431).',
  tags: [
    { name: 'Tickets and evidence', description: 'Get tickets and evidence before you send content.' },
    { name: 'Catalog', description: 'Models, their routes and the measured health of these.' },
    { name: 'Routing', description: 'Routing preferences of workspaces, and their effect.' },
    { name: 'Account', description: 'Balance, usage and keys.' },
    { name: 'Workspaces', description: 'Workspaces, their members, policies, invitations, budgets and webhooks.' },
    { name: 'Billing', description: 'Orders, receipts, settings.' },
    {
      name: 'Anonymous wallets',
      description:
        'Available if the operator enabled anonymous wallets. Blind credits pay for a wallet that no account is linked to. Reach these routes through a relay only.',
    },
    {
      name: 'Connected apps',
      description:
        'Available if the operator enabled connected apps. Apps use OAuth 2.1 and OpenID Connect. `/v1/connect/.well-known/openid-configuration` lists the endpoints, and their errors have the form of RFC 6749.',
    },
    { name: 'Sessions', description: 'Sign up, sign in and sign out. A session is a cookie.' },
    {
      name: 'Provisioning',
      description:
        'Available if the operator set `SCIM_TOKEN`. The OpenID provider creates, changes and removes people and groups by SCIM 2.0 (RFC 7643 and 7644). Errors have the form of SCIM.',
    },
    { name: 'Administration', description: 'The audit log, and the routes of operators of this deployment.' },
    { name: 'Service', description: 'Health and this reference.' },
  ],
  schemas: [
    ...[wire, evidence, receipt, lists, service],
    ...[
      alerts,
      audit,
      billing,
      catalog,
      connect,
      email,
      invitations,
      keys,
      operator,
      orders,
      passkeys,
      policies,
      routing,
    ],
    ...[scim, secondFactor, sessions, signInWays, tickets, usage, user, wallets, webhooks, workspaces],
  ],
  routes: [
    ...groups.flatMap(([tag, routes, statesAllErrors]: Group) =>
      (statesAllErrors ? describeAsStated : describeRoutes)(tag, routes),
    ),
    ...describeAsStated('Service', service.serviceContracts).map((route) =>
      route.path === '/v1/openapi.json' ? { ...route, errors: [...route.errors, 'rate_limited' as const] } : route,
    ),
    ...describeAsStated('Service', service.documentationContracts),
    ...describeAsStated('Service', service.pageContracts),
  ],
};
