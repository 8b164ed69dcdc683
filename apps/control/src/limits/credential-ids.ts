import { bearerToken } from '@sotto/http';
import { hashSecret } from '@sotto/state';
import type { FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';

/** The id by which limits know a bearer. Only its hash is kept. */
export const bearerId = (secret: string): string => `key:${hashSecret(secret)}`;

/** The id of a request's session; undefined where it shows none, or several, of which only one was read. */
export function sessionIdOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const [token, ...others] = sessionTokensOf(headers.cookie);
  return token === undefined || others.length > 0 ? undefined : `session:${hashSecret(token)}`;
}

/** The ids of the credentials that a request shows, good or not. */
export function credentialIdsOf(request: FastifyRequest): readonly string[] {
  const bearer = bearerToken(request);
  const session = sessionIdOf(request);
  return [...(bearer ? [bearerId(bearer)] : []), ...(session === undefined ? [] : [session])];
}
