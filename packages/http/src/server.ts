import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { BlockList } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { errorEnvelope, errorHeaders, headerNames, ServiceError } from '@sotto/wire';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { answerClientError, answerConnect } from './bare-answers.ts';
import { ArrivingBodies, takeBodies } from './bodies/arriving-bodies.ts';
import { type ErrorTrace, traceOf } from './error-trace.ts';
import { inTurn } from './in-turn.ts';
import { LoadGate } from './load-gate.ts';
import { refuseOddRequests } from './odd-requests.ts';
import { openToPages } from './open-to-pages.ts';
import { takeProxyHeaders } from './proxy-protocol/behind-proxies.ts';
import { requestId } from './request-id.ts';
import { cutSlowReaders, type SlowReadersOptions } from './slow-readers.ts';

export interface ServerOptions {
  /** The largest request body in bytes. */
  readonly bodyLimit: number;
  /** The bytes that bodies which are still arriving may hold together. Default: 512 MiB. */
  readonly arrivingBytes?: number;
  /** After so long without a byte a body is given up, in ms. Default: 10 s. */
  readonly bodyIdleMs?: number;
  /** How long clients may take for their answers. Default: five minutes without a byte, ten minutes for the rest. */
  readonly slowReaders?: SlowReadersOptions;
  /** The largest request line and headers together, in bytes. */
  readonly maxHeaderBytes: number;
  /** Proxies whose forwarded headers are believed, by address or by distance; false: none. */
  readonly trustProxy: false | string | ((address: string, hop: number) => boolean);
  /** Serves TLS with this certificate and key, as PEM; undefined: plain HTTP. */
  readonly tls?: TlsOptions | undefined;
  /** With TLS: who passes connections on by the PROXY protocol (`proxy-protocol/`); undefined: nobody. */
  readonly proxies?: BlockList | undefined;
  /** Names the public error of a foreign one that is no surprise, such as a dependency that is down. */
  readonly translate?: ((error: unknown) => ServiceError | undefined) | undefined;
  /** The paths that pages of any origin may call (`open-to-pages.ts`). */
  readonly isOpenToPages: (path: string) => boolean;
  /** Told once a second how many requests were refused at the door, because more come than can be served; if any were. */
  readonly onShed: (requests: number) => void;
  /** Answers what no route has, and says whether it did; such as the addresses of pages. */
  readonly answerUnknown?: (request: FastifyRequest, reply: FastifyReply) => boolean;
  /** Told of every refusal that is sent, for the log. */
  readonly onRefused?: ((error: ServiceError, request: FastifyRequest) => void) | undefined;
  /** Told of every error that is none of ours. Its message may quote content, so only its name and place go on. */
  readonly onUnexpected: (error: ErrorTrace, requestId: string) => void;
}

/**
 * A Fastify server that keeps the service's outside contract: one error envelope for every failure, request ids,
 * 405 beside 404, bodies as bytes until a handler reads them, and nothing cached.
 */
export function createServer(options: ServerOptions): FastifyInstance {
  const { arrivingBytes = 512 * 1024 * 1024, bodyIdleMs = 10_000 } = options;
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
    // What arrives while closing gets our own envelope, below.
    return503OnClosing: false,
    serverFactory: (handler) => {
      const { admitting, stop } = gated(options, handler);
      return makeServer(options, admitting).once('close', stop);
    },
    frameworkErrors: (error, request, reply) => refuse(error, request, reply),
  });
  const bodies = new ArrivingBodies({ budget: arrivingBytes, idleMs: bodyIdleMs });
  const looking = setInterval(() => bodies.tick(), bodies.tickMs).unref();
  app.addHook('onClose', async () => clearInterval(looking));
  app.decorate('arrivingBodies', bodies);
  app.removeAllContentTypeParsers();
  takeBodies(app, 'application/json');
  app.setErrorHandler(refuse);
  openToPages(app, options.isOpenToPages);
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.addHook('onRequest', (_request, reply, done) => {
    if (!closing) return done();
    reply.header('connection', 'close');
    return done(new ServiceError('service_unavailable'));
  });
  refuseOddRequests(app);
  app.setNotFoundHandler((request, reply) => {
    if (options.answerUnknown?.(request, reply) !== true) refuseUnknown(app, request, reply);
  });
  return app;
}

/** A slow or silent client must not hold a socket before it has sent its request; who does is looked for this often. */
const timeouts = {
  requestTimeout: 60_000,
  headersTimeout: 20_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 5_000,
  /** Of TLS: who begins a handshake and does not end it. */
  handshakeTimeout: 10_000,
} as const;

/**
 * How many connections may wait to be accepted. Of more than that the kernel drops the first packet, and the client sends
 * it again only after a second, then three: Node's 511 are too few for two thousand clients who come at once.
 */
export const listenBacklog = 4096;

function makeServer(options: ServerOptions, handler: RequestListener): Server {
  const { tls, proxies, maxHeaderBytes, slowReaders = { stillMs: 300_000, restMs: 600_000 } } = options;
  // Node's own refusal of a request without a host has no body: ours follows below.
  const settings = { maxHeaderSize: maxHeaderBytes, requireHostHeader: false, ...timeouts };
  const server =
    tls === undefined ? createHttpServer(settings, handler) : createHttpsServer({ ...settings, ...tls }, handler);
  if (proxies !== undefined) takeProxyHeaders(server, proxies);
  cutSlowReaders(server, slowReaders);
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // What a client expects beyond `100-continue` may be ignored (RFC 9110, 10.1.1); Node would answer without a body.
  server.on('checkExpectation', handler);
  return server;
}

const shedReportMs = 1000;

/** Lets a request in when there is time for it. Health is answered always: an overloaded process lives, and is ready. */
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
        // The client has left while its request waited.
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

/** Refuses a request with as little work as possible: requests that are served lack the time it takes. */
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

/** Sends an error in the envelope, with the headers that belong to it. */
export function sendError(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
  // A client that has stopped sending sees the answer also where the connection is closed with it.
  if (!request.raw.complete && error.type !== 'request_timeout') lingerBeforeClosing(request, reply);
  reply
    .code(error.status)
    .headers({ ...errorHeaders(error), 'cache-control': 'no-store', [headerNames.requestId]: request.id })
    .send(errorEnvelope(error, request.id));
}

/** How long the rest of a refused body is read and thrown away. */
const lingerMs = 2000;

/**
 * Gives a client time to see its refusal. To close a connection on which a body is still arriving resets it, and the client
 * sees that instead of our answer. So Node reads the rest and throws it away for a while before the connection is closed.
 */
function lingerBeforeClosing({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection');
  // Answers to earlier requests of this connection may still be on their way.
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

function refuseUnknown(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?')[0] ?? '';
  const allowed = methods.filter(
    (method) => method !== request.method && app.findRoute({ url: path, method }) !== null,
  );
  if (allowed.length > 0) reply.header('allow', allowed.join(', '));
  sendError(new ServiceError(allowed.length > 0 ? 'method_not_allowed' : 'not_found'), request, reply);
}
