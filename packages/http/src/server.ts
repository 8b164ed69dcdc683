import { createServer as createHttpServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { BlockList } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { errorEnvelope, errorHeaders, headerNames, ServiceError } from '@sotto/wire';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { answerClientError, answerConnect } from './bare-answers.ts';
import { boundArrivingBodies } from './body-budget.ts';
import { type ErrorTrace, traceOf } from './error-trace.ts';
import { LoadGate } from './load-gate.ts';
import { refuseOddRequests } from './odd-requests.ts';
import { openToPages } from './open-to-pages.ts';
import { takeProxyHeaders } from './proxy-protocol/behind-proxies.ts';
import { requestId } from './request-id.ts';

export interface ServerOptions {
  /** The largest request body in bytes. */
  readonly bodyLimit: number;
  /** What large bodies that are still arriving may have of memory together, in bytes; default 512 MiB. */
  readonly arrivingBytes?: number;
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
  const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const known = brokenOff(error, request) ?? toServiceError(error, options, request.id);
    options.onRefused?.(known, request);
    sendError(known, request, reply);
  };
  const app = Fastify({
    logger: false,
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustProxy,
    genReqId: requestId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // What arrives while closing gets our own envelope, below.
    return503OnClosing: false,
    serverFactory: (handler) => {
      const { admitting, stop } = gated(options, handler);
      return makeServer(options, admitting).once('close', stop);
    },
    frameworkErrors: (error, request, reply) => refuse(error, request, reply),
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
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
  boundArrivingBodies(app, { bodyLimit: options.bodyLimit, budget: options.arrivingBytes ?? defaultArrivingBytes });
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

function makeServer({ tls, proxies, maxHeaderBytes }: ServerOptions, handler: RequestListener): Server {
  // Node's own refusal of a request without a host has no body: ours follows below.
  const settings = { maxHeaderSize: maxHeaderBytes, requireHostHeader: false, ...timeouts };
  const server =
    tls === undefined ? createHttpServer(settings, handler) : createHttpsServer({ ...settings, ...tls }, handler);
  if (proxies !== undefined) takeProxyHeaders(server, proxies);
  server.on('clientError', answerClientError);
  server.on('connect', answerConnect);
  // What a client expects beyond `100-continue` may be ignored (RFC 9110, 10.1.1); Node would answer without a body.
  server.on('checkExpectation', handler);
  return server;
}

const defaultArrivingBytes = 512 * 1024 * 1024;
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
  const admitting: RequestListener = (request, response) => {
    const path = request.url ?? '';
    if (path === '/healthz' || path === '/readyz') return handler(request, response);
    gate.admit({
      begin() {
        // Whoever has left while it waited wants nothing more.
        if (request.socket.destroyed) return gate.ended();
        response.once('close', () => gate.ended());
        handler(request, response);
      },
      refuse() {
        shed += 1;
        if (!request.socket.destroyed) refuseForLoad(response, isOpenToPages(path.split('?')[0] ?? ''));
      },
    });
  };
  return { admitting, stop: () => clearInterval(report) };
}

const overloaded = new ServiceError('service_unavailable', {
  message: 'More requests come than can be served now. Nothing was done: send this one again after `retry-after`.',
});

/** As little work as a refusal can be: what it takes is taken from those that are served. */
function refuseForLoad(response: ServerResponse, isOpen: boolean): void {
  const id = requestId();
  const body = JSON.stringify(errorEnvelope(overloaded, id));
  response.writeHead(overloaded.status, [
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
  if (error.type === 'payload_too_large') lingerBeforeClosing(request, reply);
  reply
    .code(error.status)
    .headers({ ...errorHeaders(error), 'cache-control': 'no-store', [headerNames.requestId]: request.id })
    .send(errorEnvelope(error, request.id));
}

/** How long the rest of a refused body is read and thrown away. */
const lingerMs = 2000;

/**
 * To close while the client is still sending its body resets the connection, and the client sees that instead of our
 * answer. So the rest is read for a while, by Node itself once the answer has gone, before the connection is closed.
 */
function lingerBeforeClosing({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection');
  const close = setTimeout(() => raw.socket.destroy(), lingerMs).unref();
  raw.once('close', () => clearTimeout(close));
  raw.resume();
}

const frameworkErrors: Readonly<Record<string, () => ServiceError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ServiceError('payload_too_large'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ServiceError('unsupported_media_type'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ServiceError('invalid_request', { message: 'The body does not match its `content-length`.' }),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new ServiceError('invalid_request', { message: 'The body is empty; send JSON.' }),
  FST_ERR_BAD_URL: () => new ServiceError('invalid_request', { message: 'The URL is malformed.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new ServiceError('not_found'),
  FST_ERR_ASYNC_CONSTRAINT: () => new ServiceError('invalid_request'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('request_timeout'),
};

/** The client has gone, or what followed its headers was no HTTP, before its body was whole: that is no surprise. */
const brokenOff = (error: unknown, { raw }: FastifyRequest): ServiceError | undefined =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET' && !raw.complete
    ? new ServiceError('invalid_request', { message: 'The body did not arrive whole.' })
    : undefined;

function toServiceError(error: unknown, options: ServerOptions, id: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = error instanceof Error && 'code' in error ? frameworkErrors[String(error.code)] : undefined;
  if (known !== undefined) return known();
  const translated = options.translate?.(error);
  if (translated !== undefined) return translated;
  options.onUnexpected(traceOf(error), id);
  return new ServiceError('internal_error', { ambiguous: true });
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function refuseUnknown(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?')[0] ?? '';
  const allowed = methods.filter(
    (method) => method !== request.method && app.findRoute({ url: path, method }) !== null,
  );
  if (allowed.length > 0) reply.header('allow', allowed.join(', '));
  sendError(new ServiceError(allowed.length > 0 ? 'method_not_allowed' : 'not_found'), request, reply);
}
