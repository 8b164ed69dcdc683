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

/** Says what is wrong with a request that has a key where none is read. Undefined: it has none there. Never quotes the key. */
export function misplacedKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const right = 'Send the key as `authorization: Bearer KEY`';
  if (headers.authorization?.startsWith('sotto_') === true) return `${right}, with the word Bearer before it.`;
  const header = ['x-api-key', 'api-key'].find((name) => headers[name] !== undefined);
  return header === undefined ? undefined : `${right}, not in \`${header}\`.`;
}
