import { describeAsStated, describeRoutes } from '../describe-routes.ts';
import type { OriginDescription } from '../route.ts';
import { pageRoutes, serviceRoutes } from '../service.ts';
import { appContracts } from './apps.ts';
import { billingContracts } from './billing.ts';
import { catalogContracts } from './catalog.ts';
import { elsewhereRoutes } from './elsewhere.ts';
import { grantContracts } from './grants.ts';
import { interactionContracts } from './interactions.ts';
import { invitationContracts } from './invitations.ts';
import { keyContracts } from './keys.ts';
import { routingContracts } from './routing.ts';
import { sessionContracts } from './sessions.ts';
import { signInContracts } from './sign-in.ts';
import { ticketContracts } from './tickets.ts';
import { usageContracts } from './usage.ts';
import { webhookRoutes } from './webhooks.ts';
import { workspaceContracts } from './workspaces.ts';

/** The control origin: keys, tickets, catalog, routing, account and billing. Never content. */
export const controlOrigin: OriginDescription = {
  title: 'Sotto: control origin',
  description:
    'Knows accounts, keys and money, and never sees content. Prompts and answers belong to the confidential origin, which has a description of its own.\n\nBeside what each route names: an unknown address is 404 `not_found`, a method that it does not take 405 `method_not_allowed`, a request that does not arrive in time 408 `request_timeout`, and too many headers are 431 `header_fields_too_large`, all in the same envelope.',
  tags: [
    { name: 'Tickets and evidence', description: 'What the private flow needs before content goes anywhere.' },
    { name: 'Catalog', description: 'Models, their routes, and how these do.' },
    { name: 'Routing', description: 'Preferences of workspaces, and what they lead to.' },
    { name: 'Account', description: 'Balance, usage, keys.' },
    { name: 'Workspaces', description: 'Workspaces, their members, and invitations to them.' },
    { name: 'Billing', description: 'Orders, receipts, settings.' },
    {
      name: 'Connected apps',
      description:
        'Where the operator has them on. Apps use OAuth 2.1 and OpenID Connect, whose endpoints `/v1/connect/.well-known/openid-configuration` describes; their errors are in the shape of RFC 6749.',
    },
    { name: 'Sessions', description: 'Signing up, in and out. A session is a cookie.' },
    { name: 'Service', description: 'Health, and this reference.' },
  ],
  routes: [
    ...describeRoutes('Tickets and evidence', ticketContracts),
    ...elsewhereRoutes,
    ...describeRoutes('Catalog', catalogContracts),
    ...describeRoutes('Routing', routingContracts),
    ...describeRoutes('Account', usageContracts),
    ...describeRoutes('Account', keyContracts),
    ...describeRoutes('Workspaces', workspaceContracts),
    ...describeRoutes('Workspaces', invitationContracts),
    ...describeRoutes('Billing', billingContracts),
    ...webhookRoutes,
    ...describeRoutes('Connected apps', grantContracts),
    ...describeRoutes('Connected apps', appContracts),
    ...describeRoutes('Connected apps', interactionContracts),
    ...describeAsStated('Sessions', sessionContracts),
    ...describeAsStated('Sessions', signInContracts),
    ...serviceRoutes.map((route) =>
      route.path === '/v1/openapi.json' ? { ...route, errors: [...route.errors, 'rate_limited' as const] } : route,
    ),
    ...pageRoutes,
  ],
};
