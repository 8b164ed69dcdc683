import type { FastifyRequest } from 'fastify';

/**
 * The bearer token of a request: undefined where there is none, or another scheme; empty where it is malformed. The scheme
 * is case-insensitive (RFC 9110, 11.1).
 */
export function bearerToken(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined || !/^bearer(?: |$)/i.test(header)) return undefined;
  return /^bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
}
