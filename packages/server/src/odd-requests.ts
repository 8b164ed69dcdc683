import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorEnvelope, headerNames, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { requestId } from './random-id.ts';
import { answerOf } from './slow-readers.ts';
import { unsupportedEncoding } from './unsupported-body.ts';

/**
 * Rejects ambiguous or unsupported HTTP before the body is read: another HTTP version, no host, a repeated header of
 * which only one value can count, or a compressed body. It also rejects an expectation that the server does not meet.
 */
export function refuseOddRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(oddityOf(request.raw)));
}

function oddityOf(request: IncomingMessage): ServiceError | undefined {
  const { headers, rawHeaders, httpVersion } = request;
  // Node’s parser also accepts HTTP/0.9 and HTTP/2.0.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return invalid('The request must be of HTTP/1.1 or HTTP/1.0.');
  if (headers.host === undefined && httpVersion === '1.1') return invalid('The header `host` is missing.');
  // Counting is cheap, and almost all requests send each header once.
  if (rawHeaders.length !== 2 * Object.keys(headers).length) {
    const repeated = repeatedHeader(rawHeaders);
    if (repeated !== undefined) return invalid(`The header \`${repeated}\` is sent more than once.`);
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new ServiceError('expectation_failed');
  }
  return unsupportedEncoding(headers);
}

/** Node takes the first of these; a proxy in front of this server may have taken the last. */
const single: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type', 'content-encoding']);

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (seen.has(name) && single.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

const invalid = (message: string): ServiceError => new ServiceError('invalid_request', { message });

/** Errors by the code of Node’s parser. Every other code means that the request is not valid HTTP. */
const known: Readonly<Record<string, () => ServiceError>> = {
  HPE_HEADER_OVERFLOW: () => new ServiceError('header_fields_too_large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => new ServiceError('payload_too_large'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('request_timeout'),
};

/** Answers a request that Node’s parser rejects, and closes the connection. Such a request never reaches Fastify. */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!isAnswerable(socket)) {
    socket.destroy();
    return;
  }
  const read = known[error.code ?? ''];
  endWith(socket, read?.() ?? new ServiceError('invalid_request', { message: 'The request is not valid HTTP.' }));
}

/** Rejects `CONNECT`, which asks for a tunnel. Without a listener, Node closes the connection without a response. */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  endWith(socket, new ServiceError('method_not_allowed'));
}

/**
 * Whether the client would read bytes written now as the response to the rejected request. While an earlier request of
 * this connection awaits or receives its response, the bytes would end up in that response, or be taken for it.
 */
function isAnswerable(socket: Duplex): boolean {
  if (!socket.writable) return false;
  const response = answerOf(socket);
  return response === undefined || (!response.headersSent && !response.req.complete);
}

function endWith(socket: Duplex, error: ServiceError): void {
  const id = requestId();
  const body = JSON.stringify(errorEnvelope(error, id));
  socket.end(
    `HTTP/1.1 ${error.status} Error\r\ncontent-type: application/json; charset=utf-8\r\ncache-control: no-store\r\n` +
      `${headerNames.requestId}: ${id}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), 1000).unref();
}
