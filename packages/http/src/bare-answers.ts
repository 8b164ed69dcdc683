import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorEnvelope, ServiceError } from '@sotto/wire';
import { requestId } from './request-id.ts';

/** What Node's parser finds, by its code; everything else is no valid HTTP. */
const known: Readonly<Record<string, () => ServiceError>> = {
  HPE_HEADER_OVERFLOW: () => new ServiceError('header_fields_too_large'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => new ServiceError('payload_too_large'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('request_timeout'),
};

/** Answers what Node's parser refuses, which never becomes a whole request, and ends the connection. */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!isAnswerable(socket)) {
    socket.destroy();
    return;
  }
  const read = known[error.code ?? ''];
  endWith(socket, read?.() ?? new ServiceError('invalid_request', { message: 'The request is not valid HTTP.' }));
}

/** Answers `CONNECT`, which asks for a tunnel: Node would close the connection without a word. */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  endWith(socket, new ServiceError('method_not_allowed'));
}

/**
 * Whether words written now would be read as the answer to what was refused. Not while the answer to an earlier request of
 * this connection is awaited or under way: they would end up in the middle of it, or be taken for it.
 */
function isAnswerable(socket: Duplex): boolean {
  if (!socket.writable) return false;
  // As Node's own handler finds it out.
  const { _httpMessage: response } = socket as { readonly _httpMessage?: ServerResponse | null };
  return response == null || (!response.headersSent && !response.req.complete);
}

function endWith(socket: Duplex, error: ServiceError): void {
  const body = JSON.stringify(errorEnvelope(error, requestId()));
  socket.end(
    `HTTP/1.1 ${error.status} Error\r\ncontent-type: application/json; charset=utf-8\r\ncache-control: no-store\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), 1000).unref();
}
