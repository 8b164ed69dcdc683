import type { FastifyRequest } from 'fastify';

/**
 * Returns the bearer token of a request. Undefined: the header is absent or has another scheme. Empty: the token is
 * malformed. The scheme is case-insensitive (RFC 9110, 11.1).
 */
export function bearerToken(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined || !/^bearer(?: |$)/i.test(header)) return undefined;
  return /^bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
}
