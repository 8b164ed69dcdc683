import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { BlockList, Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import {
  errorEnvelope,
  errorHeaders,
  headerNames,
  type KnownOrigins,
  type OriginName,
  ServiceError,
  wrongTurn,
} from '@sotto/wire';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { largeBytes } from './bodies/arriving-body.ts';
import { RequestBodies, takeBodies } from './bodies/request-bodies.ts';
import { type ErrorTrace, traceOf } from './error-trace.ts';
import { LoadGate } from './load-gate.ts';
import { answerClientError, answerConnect, refuseOddRequests } from './odd-requests.ts';
import { takeProxyHeaders } from './proxy-protocol.ts';
import { requestId } from './random-id.ts';
import type { TrustProxy } from './settings/kinds.ts';
import { cutSlowReaders, type SlowReadersOptions } from './slow-readers.ts';

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
    const known = toServiceError(error, options, request.id);
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
      return makeServer(options, admitting).once('close', stop);
    },
    frameworkErrors: (error, request, reply) => refuse(error, request, reply),
  });
  const bodies = new RequestBodies({ budget: bodyBudget, weight: bodyWeight, idleMs: bodyIdleMs });
  const looking = setInterval(() => bodies.tick(), bodies.tickMs).unref();
  app.addHook('onClose', async () => clearInterval(looking));
  app.decorate('requestBodies', bodies);
  app.decorateRequest('answeredBy', undefined);
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
    if (!closing) return done();
    reply.header('connection', 'close');
    return done(new ServiceError('service_unavailable'));
  });
  refuseOddRequests(app);
  app.setNotFoundHandler((request, reply) => {
    if (options.answerUnknown?.(request, reply) !== true) refuseUnknown(app, options, request, reply);
  });
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
  // A server may ignore an expectation other than `100-continue` (RFC 9110, 10.1.1). Node would answer without a body.
  server.on('checkExpectation', handler);
  return server;
}

const shedReportMs = 1000;

/**
 * Admits a request when there is time for it. Health checks are always answered: an overloaded process is alive and
 * ready.
 */
function gated({ isOpenToPages, onShed }: ServerOptions, handler: RequestListener) {
  const gate = new LoadGate({
    now: () => performance.now(),
    restedMs: () => performance.nodeTiming.idleTime,
    afterThisTurn: (task) => setImmediate(task),
    after: (task, ms) => setTimeout(task, ms).unref(),
  });
  let shed = 0;
  const report = setInterval(() => {
    if (shed > 0) onShed(shed);
    shed = 0;
  }, shedReportMs).unref();
  const refuseAs =
    (error: ServiceError): RequestListener =>
    (request, response) => {
      const isOpen = isOpenToPages(request.url?.split('?')[0] ?? '');
      if (!request.socket.destroyed) refuseBarely(response, error, isOpen);
    };
  const refuseForLoad = refuseAs(overloaded);
  const admit: RequestListener = (request, response) =>
    gate.admit({
      begin() {
        // The client left while its request waited.
        if (request.socket.destroyed) return gate.ended();
        response.once('close', () => gate.ended());
        handler(request, response);
      },
      refuse() {
        shed += 1;
        refuseForLoad(request, response);
      },
    });
  const admitInTurn = inTurn(admit, refuseAs(crowded));
  const admitting: RequestListener = (request, response) => {
    const isHealth = request.url === '/healthz' || request.url === '/readyz';
    (isHealth ? handler : admitInTurn)(request, response);
  };
  return { admitting, stop: () => clearInterval(report) };
}

const overloaded = new ServiceError('service_unavailable', {
  message: 'More requests come than can be served now. Nothing was done: send this one again after `retry-after`.',
});

const crowded = new ServiceError('service_unavailable', {
  message: 'Too many requests wait on this connection. Nothing was done: send this one again on another connection.',
});

/** Rejects a request with as little work as possible, because that time is taken from requests that are served. */
function refuseBarely(response: ServerResponse, error: ServiceError, isOpen: boolean): void {
  const id = requestId();
  const body = JSON.stringify(errorEnvelope(error, id));
  response.writeHead(error.status, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
    'cache-control',
    'no-store',
    'retry-after',
    '1',
    headerNames.requestId,
    id,
    ...(isOpen ? ['access-control-allow-origin', '*', 'access-control-expose-headers', '*'] : []),
  ]);
  response.end(body, 'utf8');
}

/** Sends an error in the envelope, with its headers. */
function sendError(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
  // A client that still sends its body would lose the response if the connection closed now. After a timeout it has
  // stopped sending, so it sees the response anyway.
  if (!request.raw.complete && error.type !== 'request_timeout') lingerBeforeClosing(request, reply);
  reply
    .code(error.status)
    .headers({ ...errorHeaders(error), 'cache-control': 'no-store', [headerNames.requestId]: request.id })
    .send(errorEnvelope(error, request.id));
}

/** Time in which the rest of a rejected body is read and discarded. */
const lingerMs = 2000;

/**
 * Gives a client time to read its error response. To close a connection while a body arrives resets it, and the client
 * sees the reset instead of the response. So Node reads and discards the rest for a while before the connection is
 * closed.
 */
function lingerBeforeClosing({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection');
  // Responses to earlier requests of this connection may still be in transit.
  reply.raw.once('finish', () => {
    if (raw.complete) return;
    const close = setTimeout(() => raw.destroy(), lingerMs).unref();
    raw.once('close', () => clearTimeout(close));
  });
  raw.resume();
}

const frameworkErrors: Readonly<Record<string, () => ServiceError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ServiceError('unsupported_media_type'),
  FST_ERR_BAD_URL: () => new ServiceError('invalid_request', { message: 'The URL is malformed.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new ServiceError('not_found'),
  FST_ERR_ASYNC_CONSTRAINT: () => new ServiceError('invalid_request'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('request_timeout'),
};

function toServiceError(error: unknown, options: ServerOptions, id: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = error instanceof Error && 'code' in error ? frameworkErrors[String(error.code)] : undefined;
  if (known !== undefined) return known();
  const translated = options.translate?.(error);
  if (translated !== undefined) return translated;
  options.onUnexpected(traceOf(error), id);
  return new ServiceError('internal_error', { ambiguous: true });
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function refuseUnknown(
  app: FastifyInstance,
  { origin }: ServerOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const path = request.url.split('?')[0] ?? '';
  const allowed = methods.filter(
    (method) => method !== request.method && app.findRoute({ url: path, method }) !== null,
  );
  if (allowed.length > 0) {
    reply.header('allow', allowed.join(', '));
    sendError(new ServiceError('method_not_allowed'), request, reply);
    return;
  }
  const serves = (url: string): boolean => methods.some((method) => app.findRoute({ url, method }) !== null);
  const message = origin && wrongTurn(path, origin.name, { serves, origins: origin.known ?? {} });
  sendError(new ServiceError('not_found', message === undefined ? {} : { message }), request, reply);
}

/** The number of requests of a connection that may wait for an earlier response. */
const mostWaiting = 64;

/**
 * Serves the requests of one connection one at a time. Otherwise, a client that sends a thousand requests and reads
 * nothing would keep a thousand responses in memory. `refuse` answers requests beyond the 64th that waits, in few
 * bytes.
 */
function inTurn(serve: RequestListener, refuse: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (request, response) => {
    const { socket } = request;
    // The body must be read, or it would arrive too late. There can only be one such request at a time.
    const isLarge = Number(request.headers['content-length'] ?? 0) > largeBytes;
    // Node assigns the socket to a response when it is its turn.
    if (response.socket !== null || isLarge) return serve(request, response);
    const before = waiting.get(socket) ?? 0;
    if (before >= mostWaiting) return refuse(request, response);
    waiting.set(socket, before + 1);
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Node emits `socket` before the response can be written to.
      process.nextTick(serve, request, response);
    });
  };
}

/**
 * Lets pages of any origin call the paths that `isOpen` accepts. Use it only for paths whose credential is a header.
 * With `*`, browsers let a page read a response only if the request had no cookies. So a page can do no more than a
 * program with the same key or ticket. The headers are set on the raw response, because some responses bypass Fastify.
 */
function openToPages(app: FastifyInstance, isOpen: (path: string) => boolean): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin === undefined || !isOpen(request.url.split('?')[0] ?? '')) return done();
    const { raw } = reply;
    raw.setHeader('access-control-allow-origin', '*');
    raw.setHeader('access-control-expose-headers', '*');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return done();
    raw.setHeader('access-control-allow-methods', 'GET, POST');
    // The wildcard covers every header except `authorization`.
    raw.setHeader('access-control-allow-headers', 'authorization, *');
    raw.setHeader('access-control-max-age', '86400');
    void reply.code(204).send();
  });
}
