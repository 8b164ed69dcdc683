import type { FastifyRequest } from 'fastify';

/** The bearer token of a request; undefined where there is none. The scheme is case-insensitive (RFC 9110, 11.1). */
export function bearerToken(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined) return undefined;
  const match = /^bearer +(\S+) *$/i.exec(header);
  return match?.[1] ?? '';
}
