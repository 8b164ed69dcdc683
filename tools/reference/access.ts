import type { RouteDescription } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { code, generated, table } from './markdown.ts';

const intro = `# Access

Look up which credential opens a route, and which pages may call it. Any one of the named credentials is enough. [Headers](headers.md#credentials) says how to send each. The tests call every route with every credential, valid and invalid.

A session or an operator's session also needs control's own origin, if the request changes something. "Any page" means that pages of other origins may call the route: they can send a key or a ticket, but never a cookie.`;

const words: Readonly<Record<RouteDescription['credentials'][number], string>> = {
  inferenceKey: 'inference key',
  managementKey: 'management key',
  accessToken: 'access token of an app',
  session: 'session',
  operator: "operator's session",
  scimToken: 'SCIM token',
  ticket: 'ticket',
  attestationTicket: 'ticket for evidence',
};

const rowOf = ({ method, path, credentials, isOpenToPages }: RouteDescription): string[] => [
  code(`${method.toUpperCase()} ${path}`),
  credentials.map((credential) => words[credential]).join(', ') || 'none',
  isOpenToPages ? 'any page' : '',
];

const byPath = (one: RouteDescription, other: RouteDescription): number =>
  one.path < other.path ? -1 : one.path > other.path ? 1 : one.method < other.method ? -1 : 1;

const tableOf = (routes: readonly RouteDescription[]): string =>
  table(['Route', 'Credentials', 'Pages'], routes.toSorted(byPath).map(rowOf));

/** Builds the page that says who may call each route. */
export const accessPage = (): string =>
  [generated, intro, '## Control', tableOf(controlOrigin.routes), '## Broker', tableOf(confidentialOrigin.routes)]
    .join('\n\n')
    .concat('\n');
