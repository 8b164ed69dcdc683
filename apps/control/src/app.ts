import { buildDocument } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { createServer, registerHealth, registerOpenApi, type ServerOptions } from '@sotto/http';
import { type ProjectionPort, type ReceiptPort, StateUnavailableError } from '@sotto/state';
import type { Tracing } from '@sotto/tracing';
import { type ErrorType, errorEnvelope, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import type { Billing } from './billing/billing.ts';
import { type CatalogRoutesDependencies, serveCatalog } from './catalog/catalog-routes.ts';
import type { ConnectedApps } from './connect/connected-apps.ts';
import { refuseKey } from './credentials/api-credentials.ts';
import type { SessionDependencies } from './credentials/session-credentials.ts';
import { isDatabaseUnavailable, orDatabaseFailure } from './database/database.ts';
import type { ControlEvents } from './events.ts';
import { serveKeys } from './keys/key-routes.ts';
import { invitationLimit } from './limits/invitation-limit.ts';
import { ownLimit, registerRateLimits } from './limits/rate-limits.ts';
import { signInLimits } from './limits/sign-in-limits.ts';
import type { Mailer } from './mail/mail.ts';
import { openDashboard } from './pages/dashboard.ts';
import { registerReference } from './pages/reference.ts';
import type { Projector } from './projection/projector.ts';
import { serveRouting } from './routing/routing-routes.ts';
import { serving } from './serve/serve.ts';
import { authBasePath } from './sessions/auth-path.ts';
import { hasSessionCookie } from './sessions/cookies.ts';
import { authRoutes } from './sessions/plugin.ts';
import { type SessionSecrets, signAnew } from './sessions/session-secrets.ts';
import type { TicketDependencies } from './tickets/mint-ticket.ts';
import { serveTickets } from './tickets/ticket-routes.ts';
import { serveUsage } from './usage/usage-routes.ts';
import { serveInvitations } from './workspaces/invitation-routes.ts';
import { serveWorkspaces } from './workspaces/workspace-routes.ts';

export interface ControlAppOptions {
  readonly sessions: Omit<SessionDependencies, 'onVerified'>;
  readonly sessionSecrets: SessionSecrets;
  /** Undefined: nothing is traced. */
  readonly traces?: Pick<Tracing, 'record'> | undefined;
  readonly projector: Projector;
  readonly state: ProjectionPort & ReceiptPort;
  readonly catalog: CatalogRoutesDependencies;
  readonly billing: Billing;
  /** Undefined where it is switched off: none of its routes is there, and access tokens are no bearers. */
  readonly connectedApps: ConnectedApps | undefined;
  readonly tickets: TicketDependencies;
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
/** A quarter of this is sixty-four of the largest bodies, from one address at once. */
const arrivingBytes = 64 * 1024 * 1024;
const maxHeaderBytes = 16 * 1024;

/** The paths of routes that pages of other origins may call. */
const openPaths = controlOrigin.routes
  .filter(({ isOpenToPages = false }) => isOpenToPages)
  .map(({ path }) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`));

/** The control origin: everything but content. */
export async function buildApp(options: ControlAppOptions): Promise<FastifyInstance> {
  const { events } = options;
  const dashboard = openDashboard({ folder: options.dashboardFolder, confidentialOrigin: options.confidentialOrigin });
  const app = createServer({
    bodyLimit,
    arrivingBytes,
    maxHeaderBytes,
    trustProxy: options.trustProxy,
    answerUnknown: dashboard.answer,
    isOpenToPages: (path) => openPaths.some((open) => open.test(path)),
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
  const [sessionSecret] = options.sessionSecrets;
  const limits = { ...options.limits, sessionSecret, isFile: dashboard.isFile, now: options.now };
  const onVerified = await registerRateLimits(app, limits);
  const sessions = { ...options.sessions, onVerified };
  registerHealth(app, options.isReady);
  await app.register(authRoutes, {
    auth: sessions.auth,
    origin: options.origin,
    toEnvelope: authEnvelope,
    admit: signInLimits(app, { control: options.limits.control, findDevice: sessions.auth.findDevice }),
    onUnauthenticated: async (request, path) => {
      const method = request.method === 'HEAD' ? 'GET' : request.method;
      const isForSessions = sessionRoutes.has(`${method} ${authBasePath}${path}`);
      if (isForSessions && !hasSessionCookie(request.headers.cookie)) await refuseKey(sessions, request);
    },
    onFailed: async (error) => {
      const failure = await orDatabaseFailure(sessions.pool, error);
      if (failure !== error) throw failure;
    },
  });
  const credentials = { pool: sessions.pool, accessTokens: options.connectedApps !== undefined, onVerified };
  const serve = serving(app, {
    sessions,
    credentials,
    // Each invitation may send a mail to somebody who did not ask for it.
    limits: {
      minting: ownLimit(options.limits.minting),
      invitations: ownLimit(Math.ceil(options.limits.control / 20)),
    },
  });
  const { projector, now } = options;
  const { pool } = sessions;
  const { keeper } = options.catalog;
  serveTickets(app, serve, {
    ...options.tickets,
    receipts: options.state,
    confidentialOrigin: options.confidentialOrigin,
  });
  serveCatalog(serve, options.catalog);
  serveRouting(serve, { pool, keeper, projector });
  serveUsage(serve, { sessions, credentials, state: options.state, now });
  serveKeys(serve, { pool, projector });
  serveWorkspaces(serve, {
    ...{ pool, projector, events, now },
    mailer: options.mailer,
    origin: options.origin,
    admitMail: invitationLimit(app, options.limits.control),
  });
  serveInvitations(serve, { pool, projector, now });
  options.billing.register(app, serve);
  await options.connectedApps?.register(app, pool, serve);
  const document = buildDocument(controlOrigin);
  registerOpenApi(app, document);
  registerReference(app, [
    { document, address: options.origin },
    { document: buildDocument(confidentialOrigin), address: options.confidentialOrigin },
  ]);
  await dashboard.register(app);
  return app;
}

/** The routes that take a session and nothing else, such as `GET /v1/auth/list-sessions`. */
const sessionRoutes: ReadonlySet<string> = new Set(
  controlOrigin.routes
    .filter(({ credentials }) => credentials.length === 1 && credentials[0] === 'session')
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`),
);

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
