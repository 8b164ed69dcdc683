import { errorEnvelope, errorHeaders, headerNames, type ServiceError } from '@sotto/wire';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Sends an error in the envelope, with its headers. */
export function sendError(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
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
