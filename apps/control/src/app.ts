import { limitOf } from '@sotto/contract';
import { controlOrigin } from '@sotto/contract/control';
import { createServer, type ServerOptions, serveHealth, type Tracing } from '@sotto/server';
import { StateUnavailableError } from '@sotto/state';
import { maxControlBytes, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { Redis } from 'ioredis';
import { type ApiCredentials, RememberedKeys, verifyCredentials } from './credentials/api-credentials.ts';
import type { SessionDependencies } from './credentials/session-credentials.ts';
import { isDatabaseUnavailable } from './database/failures.ts';
import type { Documentation } from './documentation/documentation.ts';
import type { Domain } from './domain.ts';
import type { ControlEvents } from './events.ts';
import { limitByKey, ownLimit, registerRateLimits, uncounted } from './limits/rate-limits.ts';
import type { ControlMetrics } from './metrics/control-metrics.ts';
import type { Dashboard } from './pages/dashboard.ts';
import { serving } from './serve/serve.ts';
import { type SessionSecrets, signCookiesAgain } from './sessions/session-secrets.ts';

export interface ControlAppOptions {
  readonly domains: readonly Domain[];
  readonly sessions: Omit<SessionDependencies, 'now'>;
  readonly sessionSecrets: SessionSecrets;
  readonly findAccessToken: ApiCredentials['findAccessToken'];
  /** Undefined: nothing is traced. */
  readonly traces?: Pick<Tracing, 'record'> | undefined;
  readonly dashboard: Dashboard;
  readonly documentation: Pick<Documentation, 'answer'>;
  /** Shown to clients that ask for a path of the broker here. */
  readonly confidentialOrigin: string;
  readonly limits: { readonly control: number; readonly requests: number; readonly redis: Redis | undefined };
  readonly events: ControlEvents;
  readonly isReady: () => Promise<boolean>;
  /** Called after each answer. `route` is the pattern of the route. */
  readonly onAnswered: ControlMetrics['answered'];
  /** Called after each request that may have changed something. */
  readonly onWritten: () => void;
  readonly trustProxy: ServerOptions['trustProxy'];
  readonly now: () => number;
}

/** One account or address gets at most a quarter of this, which is sixty-four bodies of the largest size. */
const bodyBudget = 64 * 1024 * 1024;
const maxHeaderBytes = 16 * 1024;

/** The routes that pages of other origins may call. */
const openPaths = controlOrigin.routes
  .filter(({ isOpenToPages = false }) => isOpenToPages)
  .map(({ path }) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`));

/** The control origin, which serves everything except content. */
export async function buildApp(options: ControlAppOptions): Promise<FastifyInstance> {
  const { events, dashboard, documentation } = options;
  const app = createServer({
    bodyLimit: maxControlBytes,
    bodyBudget,
    maxHeaderBytes,
    trustProxy: options.trustProxy,
    answerUnknown: (request, reply) => documentation.answer(request, reply) || dashboard.answer(request, reply),
    origin: { name: 'control', known: { confidential: options.confidentialOrigin } },
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
      if (cookie !== undefined) raw.headers.cookie = signCookiesAgain(cookie, options.sessionSecrets);
    });
  }
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    // The route’s pattern, never the URL: URLs of reset links contain secrets.
    const route = request.routeOptions.url ?? 'unknown';
    if (route === '/healthz' || route === '/readyz') return;
    const { method } = request;
    const status = reply.statusCode;
    // A ticket writes nothing to Postgres.
    if (method !== 'GET' && status < 400 && route !== '/v1/inference/tickets') options.onWritten();
    events.request({ requestId: request.id, method, route, status, durationMs: Math.round(reply.elapsedTime) });
    const error = status >= 500 ? String(status) : undefined;
    options.onAnswered({ method, route, status, error, scheme: request.protocol, ms: reply.elapsedTime });
    options.traces?.record(`${method} ${route}`, options.now() - reply.elapsedTime, {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'url.scheme': request.protocol,
      ...(error === undefined ? {} : { 'error.type': error }),
    });
  });
  const [sessionSecret] = options.sessionSecrets;
  const { findAccessToken } = options;
  const sessions = { ...options.sessions, now: options.now };
  const credentials = { pool: sessions.pool, findAccessToken, remembered: new RememberedKeys() };
  const verify = verifyCredentials(credentials, sessions.auth);
  const limits = { ...options.limits, sessionSecret, isFile: dashboard.isFile, verify, now: options.now };
  await registerRateLimits(app, limits);
  serveHealth(app, options.isReady);
  const serve = serving(app, {
    sessions,
    credentials,
    limits: {
      minting: limitByKey(limitOf('minting', options.limits.requests).max),
      outgoing: ownLimit(limitOf('outgoing', options.limits.control).max),
      uncounted,
    },
  });
  for (const domain of options.domains) await domain.register?.({ app, serve, sessions, credentials });
  return app;
}
