import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';

/**
 * Refuses what is HTTP and yet says two things, or one that is not understood here, before anything of the body is read:
 * a request of another HTTP or without a host, a header twice of which only one can count, and a body that is compressed.
 */
export function refuseOddRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => done(oddityOf(request.raw)));
}

function oddityOf(request: IncomingMessage): ServiceError | undefined {
  const { headers, rawHeaders, httpVersion } = request;
  // Node's parser takes HTTP/0.9 and HTTP/2.0 for what it knows.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return invalid('The request must be of HTTP/1.1 or HTTP/1.0.');
  if (headers.host === undefined && httpVersion === '1.1') return invalid('The header `host` is missing.');
  // Counting is cheap, and nearly no request repeats a header.
  if (rawHeaders.length !== 2 * Object.keys(headers).length) {
    const repeated = repeatedHeader(rawHeaders);
    if (repeated !== undefined) return invalid(`The header \`${repeated}\` is sent more than once.`);
  }
  const encoding = headers['content-encoding'];
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return undefined;
  return new ServiceError('unsupported_media_type', {
    message: 'The body must not be compressed: send it without `content-encoding`.',
  });
}

/** Node takes the first of these; whoever stands before us may have taken the last. */
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
