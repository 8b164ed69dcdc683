import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { BlockList } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { type KnownOrigins, type OriginName, ServiceError } from '@sotto/wire';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { RequestBodies, takeBodies } from './bodies/request-bodies.ts';
import type { ErrorTrace } from './error-trace.ts';
import { toServiceError } from './foreign-errors.ts';
import { gated } from './gated.ts';
import { answerClientError, answerConnect, refuseOddRequests } from './odd-requests.ts';
import { openToPages } from './open-to-pages.ts';
import { takeProxyHeaders } from './proxy-protocol.ts';
import { requestId } from './random-id.ts';
import { memoryReturn } from './return-memory.ts';
import { followRoutes, methods } from './route-table.ts';
import { sendError } from './send-error.ts';
import type { TrustProxy } from './settings/kinds.ts';
import { cutSlowReaders, type SlowReadersOptions } from './slow-readers.ts';
import { refuseUnknown } from './unknown-route.ts';

export interface ServerOptions {
  /** The largest request body in bytes. */
  readonly bodyLimit: number;
  /** The bytes of memory that requests may hold together because of their bodies. Default: 512 MiB. */
  readonly bodyBudget?: number;
  /** The bytes of memory that a request holds at most for each byte of its body. Default: 1. */
  readonly bodyWeight?: number;
  /** Time without a byte after which a body is rejected, in ms. Default: 10 s. */
  readonly bodyIdleMs?: number;
  /** Time that clients get to read responses. Default: five minutes without a byte, ten minutes for the rest. */
  readonly slowReaders?: SlowReadersOptions;
  /** The largest request line and headers together, in bytes. */
  readonly maxHeaderBytes: number;
  /** Proxies whose forwarded headers are trusted, by address or by distance. False: none. */
  readonly trustProxy: TrustProxy;
  /** Serves TLS with this certificate and key, as PEM; undefined: plain HTTP. */
  readonly tls?: TlsOptions | undefined;
  /** With TLS: proxies that pass connections on by the PROXY protocol (`proxy-protocol.ts`). Undefined: none. */
  readonly proxies?: BlockList | undefined;
  /** Returns the public error for an expected foreign one, such as a dependency that is down. */
  readonly translate?: ((error: unknown) => ServiceError | undefined) | undefined;
  /** The paths that pages of any origin may call. */
  readonly isOpenToPages: (path: string) => boolean;
  /** Called once a second with the number of requests rejected for overload, if there were any. */
  readonly onShed: (requests: number) => void;
  /** The origin that this server is. A 404 then says what to use instead of a path of the other origin. */
  readonly origin?: { readonly name: OriginName; readonly known?: KnownOrigins } | undefined;
  /** Answers a request without a route, such as a page’s address. Returns whether it did. */
  readonly answerUnknown?: (request: FastifyRequest, reply: FastifyReply) => boolean;
  /** Called for every request, before any hook can refuse it. */
  readonly onArrival?: ((request: FastifyRequest, reply: FastifyReply) => void) | undefined;
  /** Called with every error that is sent, for the log, except for an address or a method without a route. */
  readonly onRefused?: ((error: ServiceError, request: FastifyRequest) => void) | undefined;
  /** Called with every unexpected error. Its message may quote content, so only its name and place are passed. */
  readonly onUnexpected: (error: ErrorTrace, requestId: string) => void;
}

/**
 * Creates a Fastify server with the conventions of all our servers: one error envelope for every failure,
 * request ids, 405 beside 404, and no caching. Bodies stay bytes until a handler reads them.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const { bodyBudget = 512 * 1024 * 1024, bodyWeight = 1, bodyIdleMs = 10_000 } = options;
  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = toServiceError(error, options, request);
    options.onRefused?.(known, request);
    sendError(known, request, reply);
  };
  const app = Fastify({
    logger: false,
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustProxy,
    genReqId: requestId,
    requestIdHeader: false,
    exposeHeadRoutes: true,
    // Requests that arrive while the server closes get our own envelope, below.
    return503OnClosing: false,
    serverFactory: (handler) => {
      const { admitting, stop } = gated(options, handler);
      return makeServer(options, admitting)
        .once('listening', () => memoryReturn.started())
        .once('close', stop);
    },
    frameworkErrors: (error, request, reply) => refuse(error, request, reply),
  });
  const routes = followRoutes(app);
  const bodies = new RequestBodies({ budget: bodyBudget, weight: bodyWeight, idleMs: bodyIdleMs });
  const looking = setInterval(() => bodies.tick(), bodies.tickMs).unref();
  app.addHook('onClose', async () => clearInterval(looking));
  app.decorate('requestBodies', bodies);
  app.decorateRequest('answeredBy', undefined);
  app.decorateRequest('bodyHolder', undefined);
  app.decorateRequest('holding', undefined);
  app.removeAllContentTypeParsers();
  takeBodies(app, 'application/json');
  app.setErrorHandler(refuse);
  openToPages(app, options.isOpenToPages);
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.answeredBy = reply.raw;
    options.onArrival?.(request, reply);
    if (!closing) return done();
    reply.header('connection', 'close');
    return done(new ServiceError('service_unavailable'));
  });
  refuseOddRequests(app);
  const unknown = (request: FastifyRequest, reply: FastifyReply): void => {
    if (options.answerUnknown?.(request, reply) !== true) refuseUnknown(routes, options.origin, request, reply);
  };
  app.setNotFoundHandler(unknown);
  const served = new Set<string>([...methods, 'OPTIONS']);
  // Node reads more methods than routes have. The framework would look at their bodies first.
  app.addHook('onRequest', (request, reply, done) => (served.has(request.method) ? done() : unknown(request, reply)));
  return app;
}

/** Timeouts in ms, so that a slow or silent client does not hold a socket before it has sent its request. */
const timeouts = {
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  /** Of TLS: for clients that begin a handshake and do not finish it. */
  handshakeTimeout: 10_000,
} as const;

/**
 * The number of connections that may wait to be accepted. The kernel drops the first packet of any more, and the client
 * sends it again after one second, then three. Node’s 511 are too few when two thousand clients connect at once.
 */
export const listenBacklog = 4096;

function makeServer(options: ServerOptions, handler: RequestListener): Server {
  const { tls, proxies, maxHeaderBytes, slowReaders = { stillMs: 300_000, restMs: 600_000 } } = options;
  // Node rejects a request without a host with an empty body. `refuseOddRequests` sends our envelope instead.
  const settings = { maxHeaderSize: maxHeaderBytes, requireHostHeader: false, ...timeouts };
  const server =
    tls === undefined ? createHttpServer(settings, handler) : createHttpsServer({ ...settings, ...tls }, handler);
  if (proxies !== undefined) takeProxyHeaders(server, proxies);
  cutSlowReaders(server, slowReaders);
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // Node would answer without a body. `refuseOddRequests` sends our envelope instead.
  server.on('checkExpectation', handler);
  return server;
}
