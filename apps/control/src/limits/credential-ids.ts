import { bearerToken } from '@sotto/server';
import { hashSecret } from '@sotto/state';
import type { FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';

/** Returns the id of a bearer for rate limits. It contains only a hash. */
export const bearerId = (secret: string): string => `key:${hashSecret(secret)}`;

/**
 * Returns the id of a request’s session. Undefined without a session, and with several, because only one of them was
 * read.
 */
export function sessionIdOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const [token, ...others] = sessionTokensOf(headers.cookie);
  return token === undefined || others.length > 0 ? undefined : `session:${hashSecret(token)}`;
}

/** Returns the ids of all credentials in a request, valid or not. */
export function credentialIdsOf(request: FastifyRequest): readonly string[] {
  const bearer = bearerToken(request);
  const session = sessionIdOf(request);
  return [...(bearer ? [bearerId(bearer)] : []), ...(session === undefined ? [] : [session])];
}
