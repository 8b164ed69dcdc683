import { createServer, registerHealth, registerOpenApi, type ServerOptions } from '@sotto/http';
import { buildDocument, confidentialOrigin, controlOrigin } from '@sotto/openapi';
import { type ProjectionPort, type ReceiptPort, StateUnavailableError } from '@sotto/state';
import type { Tracing } from '@sotto/tracing';
import { type ErrorType, errorEnvelope, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Billing } from './billing/billing.ts';
import { type CatalogRoutesDependencies, registerCatalog } from './catalog/catalog-routes.ts';
import type { ConnectedApps } from './connect/connected-apps.ts';
import type { SessionDependencies } from './credentials/session-credentials.ts';
import { isDatabaseUnavailable, orDatabaseFailure } from './database/database.ts';
import type { ControlEvents } from './events.ts';
import { registerKeys } from './keys/key-routes.ts';
import { invitationLimit } from './limits/invitation-limit.ts';
import { ownLimit, registerRateLimits } from './limits/rate-limits.ts';
import { limitRefusedCredentials } from './limits/refused-credentials.ts';
import { signInLimits } from './limits/sign-in-limits.ts';
import type { Mailer } from './mail/mail.ts';
import { openDashboard } from './pages/dashboard.ts';
import { registerReference } from './pages/reference.ts';
import type { Projector } from './projection/projector.ts';
import { registerRouting } from './routing/routing-routes.ts';
import { authRoutes } from './sessions/plugin.ts';
import { type SessionSecrets, signAnew } from './sessions/session-secrets.ts';
import { registerTee } from './tee/tee-routes.ts';
import { registerAttestationTickets } from './tickets/attestation-tickets.ts';
import { registerTickets, type TicketDependencies } from './tickets/ticket-routes.ts';
import { registerUsage } from './usage/usage-routes.ts';
import { registerInvitations } from './workspaces/invitation-routes.ts';
import { registerMembers } from './workspaces/member-routes.ts';
import { registerWorkspaces } from './workspaces/workspace-routes.ts';

export interface ControlAppOptions {
  readonly sessions: SessionDependencies;
  readonly sessionSecrets: SessionSecrets;
  /** Undefined: nothing is traced. */
  readonly traces?: Pick<Tracing, 'record'> | undefined;
  readonly projector: Projector;
  readonly state: ProjectionPort & ReceiptPort;
  readonly catalog: Omit<CatalogRoutesDependencies, 'credentials'>;
  readonly billing: Billing;
  /** Undefined where it is switched off: none of its routes is there, and access tokens are no bearers. */
  readonly connectedApps: ConnectedApps | undefined;
  readonly tickets: Omit<TicketDependencies, 'rateLimit' | 'credentials'>;
  readonly mailer: Mailer | undefined;
  readonly limits: { readonly control: number; readonly minting: number; readonly redis: Redis | undefined };
  readonly origin: string;
  readonly events: ControlEvents;
  readonly isReady: () => Promise<boolean>;
  readonly trustProxy: ServerOptions['trustProxy'];
  readonly confidentialOrigin: string;
  /** Where the built dashboard lies. */
  readonly dashboardFolder: string;
  readonly now: () => number;
}

const bodyLimit = 256 * 1024;
const maxHeaderBytes = 16 * 1024;

/** What pages of other origins may call: what is public, and what takes an inference key. Never what a session opens. */
const pagesMayCall =
  /^\/v1\/(?:models|models\/uptime|catalog\/models|capabilities|billing\/catalog|openapi\.json|routing\/(?:effective|eligible-models)|inference\/[a-z-]+|tee\/.+)$/;

/** The control origin: everything but content. */
export async function buildApp(options: ControlAppOptions): Promise<FastifyInstance> {
  const { sessions, events } = options;
  const dashboard = openDashboard({ folder: options.dashboardFolder, confidentialOrigin: options.confidentialOrigin });
  const app = createServer({
    bodyLimit,
    maxHeaderBytes,
    trustProxy: options.trustProxy,
    answerUnknown: dashboard.answer,
    isOpenToPages: (path) => pagesMayCall.test(path),
    onShed: (requests) => events.shed({ requests }),
    onUnexpected: events.unexpected,
    translate: (error) =>
      error instanceof StateUnavailableError || isDatabaseUnavailable(error)
        ? new ServiceError('service_unavailable')
        : undefined,
  });
  if (options.sessionSecrets.length > 1) {
    app.addHook('onRequest', async ({ raw }) => {
      const { cookie } = raw.headers;
      if (cookie !== undefined) raw.headers.cookie = signAnew(cookie, options.sessionSecrets);
    });
  }
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    // The route's pattern, never the URL: reset links carry secrets in theirs.
    const route = request.routeOptions.url ?? 'unknown';
    if (route === '/healthz' || route === '/readyz') return;
    const { method } = request;
    const status = reply.statusCode;
    events.request({ requestId: request.id, method, route, status, durationMs: Math.round(reply.elapsedTime) });
    options.traces?.record(`${method} ${route}`, options.now() - reply.elapsedTime, {
      ...{ method, route, status },
      ...(status >= 500 ? { error: String(status) } : {}),
    });
  });
  await registerRateLimits(app, options.limits);
  limitRefusedCredentials(app, options.limits.control);
  registerHealth(app, options.isReady);
  await app.register(authRoutes, {
    auth: sessions.auth,
    origin: options.origin,
    toEnvelope: authEnvelope,
    admit: signInLimits(app, options.limits.control),
    onFailed: async (error) => {
      const failure = await orDatabaseFailure(sessions.pool, error);
      if (failure !== error) throw failure;
    },
  });
  const credentials = { pool: sessions.pool, accessTokens: options.connectedApps !== undefined };
  registerCatalog(app, { ...options.catalog, credentials });
  const tickets = { ...options.tickets, credentials, rateLimit: ownLimit(options.limits.minting) };
  registerTickets(app, tickets);
  registerAttestationTickets(app, tickets);
  registerTee(app, { ...tickets, receipts: options.state, confidentialOrigin: options.confidentialOrigin });
  registerKeys(app, { sessions, projector: options.projector });
  registerRouting(app, { sessions, credentials, keeper: options.catalog.keeper, projector: options.projector });
  registerUsage(app, { sessions, credentials, state: options.state, now: options.now });
  const workspaces = { sessions, projector: options.projector };
  registerWorkspaces(app, workspaces);
  registerMembers(app, workspaces);
  registerInvitations(app, {
    ...workspaces,
    mailer: options.mailer,
    origin: options.origin,
    events,
    rateLimit: ownLimit(Math.ceil(options.limits.control / 20)),
    admitMail: invitationLimit(app, options.limits.control),
    now: options.now,
  });
  options.billing.register(app, sessions);
  await options.connectedApps?.register(app, sessions);
  const document = buildDocument(controlOrigin);
  registerOpenApi(app, document);
  registerReference(app, [
    { document, address: options.origin },
    { document: buildDocument(confidentialOrigin), address: options.confidentialOrigin },
  ]);
  await dashboard.register(app);
  return app;
}

const authTypes: Readonly<Record<number, ErrorType>> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'invalid_request',
  429: 'rate_limited',
  503: 'service_unavailable',
};

/** What a page branches on has a type of its own. */
const authTypesByCode: Readonly<Record<string, ErrorType>> = {
  EMAIL_NOT_VERIFIED: 'email_not_verified',
  SESSION_NOT_FRESH: 'session_not_fresh',
};

/** better-auth's errors in our envelope. Its messages are its own sentences; they quote no input. */
function authEnvelope(
  status: number,
  code: string | undefined,
  message: string | undefined,
  requestId: string,
): unknown {
  const known = authTypesByCode[code ?? ''];
  const type = known ?? authTypes[status] ?? 'internal_error';
  const isSaid = known !== undefined || type === 'internal_error' || !message;
  return errorEnvelope(
    new ServiceError(type, isSaid ? {} : { message: `${message}.`.replace(/\.\.$/, '.') }),
    requestId,
  );
}
