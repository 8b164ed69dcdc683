import { describeAsStated, describeRoutes } from '../describe-routes.ts';
import type { OriginDescription } from '../route.ts';
import { pageContracts, serviceContracts } from '../service.ts';
import { alertContracts } from './alerts.ts';
import { auditContracts } from './audit.ts';
import { billingContracts, webhookContracts } from './billing.ts';
import { catalogContracts } from './catalog.ts';
import { appContracts, grantContracts, interactionContracts } from './connect.ts';
import { invitationContracts } from './invitations.ts';
import { keyContracts } from './keys.ts';
import { operatorContracts } from './operator.ts';
import { routingContracts } from './routing.ts';
import { sessionContracts } from './sessions.ts';
import { signInContracts } from './sign-in.ts';
import { ticketContracts } from './tickets.ts';
import { usageContracts } from './usage.ts';
import { walletContracts } from './wallets.ts';
import { workspaceContracts } from './workspaces.ts';

export {
  alertContracts,
  appContracts,
  auditContracts,
  billingContracts,
  catalogContracts,
  grantContracts,
  interactionContracts,
  invitationContracts,
  keyContracts,
  operatorContracts,
  routingContracts,
  sessionContracts,
  signInContracts,
  ticketContracts,
  usageContracts,
  walletContracts,
  webhookContracts,
  workspaceContracts,
};

/** The contracts of the control origin, by route, without its pages. */
export type ControlContracts = typeof alertContracts &
  typeof appContracts &
  typeof auditContracts &
  typeof billingContracts &
  typeof catalogContracts &
  typeof grantContracts &
  typeof interactionContracts &
  typeof invitationContracts &
  typeof keyContracts &
  typeof operatorContracts &
  typeof routingContracts &
  typeof sessionContracts &
  typeof signInContracts &
  typeof ticketContracts &
  typeof usageContracts &
  typeof walletContracts &
  typeof webhookContracts &
  typeof workspaceContracts;

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
    { name: 'Workspaces', description: 'Workspaces, their members, invitations, budgets and webhooks.' },
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
    { name: 'Administration', description: 'The audit log, and the routes of operators of this deployment.' },
    { name: 'Service', description: 'Health and this reference.' },
  ],
  routes: [
    ...describeRoutes('Tickets and evidence', ticketContracts),
    ...describeRoutes('Catalog', catalogContracts),
    ...describeRoutes('Routing', routingContracts),
    ...describeRoutes('Account', usageContracts),
    ...describeRoutes('Account', keyContracts),
    ...describeRoutes('Workspaces', workspaceContracts),
    ...describeRoutes('Workspaces', alertContracts),
    ...describeRoutes('Workspaces', invitationContracts),
    ...describeRoutes('Billing', billingContracts),
    ...describeRoutes('Anonymous wallets', walletContracts),
    ...describeAsStated('Billing', webhookContracts),
    ...describeRoutes('Connected apps', grantContracts),
    ...describeRoutes('Connected apps', appContracts),
    ...describeRoutes('Connected apps', interactionContracts),
    ...describeAsStated('Sessions', sessionContracts),
    ...describeAsStated('Sessions', signInContracts),
    ...describeRoutes('Administration', auditContracts),
    ...describeRoutes('Administration', operatorContracts),
    ...describeAsStated('Service', serviceContracts).map((route) =>
      route.path === '/v1/openapi.json' ? { ...route, errors: [...route.errors, 'rate_limited' as const] } : route,
    ),
    ...describeAsStated('Service', pageContracts),
  ],
};
