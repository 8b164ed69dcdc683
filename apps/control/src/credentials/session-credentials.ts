import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { type AccountIds, ensureAccount } from '../accounts/ensure-account.ts';
import { orDatabaseFailure } from '../database/database.ts';
import { sessionIdOf } from '../limits/credential-ids.ts';
import type { OnVerified } from '../limits/rate-limits.ts';
import type { Auth } from '../sessions/auth.ts';
import { assertSameOrigin } from '../sessions/same-origin.ts';
import { readSession } from '../sessions/session-reader.ts';
import { refuseKey } from './api-credentials.ts';

export interface SessionDependencies {
  readonly auth: Auth;
  readonly pool: pg.Pool;
  readonly allowedOrigins: readonly string[];
  /** Called when a user had no account yet. */
  readonly onAccountMade: (account: AccountIds) => Promise<void>;
  /** Told of every session that was found good. */
  readonly onVerified: OnVerified;
}

/** The person that a session belongs to. `email` is known to be theirs only where `emailVerified`. */
export interface SignedIn extends AccountIds {
  readonly email: string;
  readonly emailVerified: boolean;
  /** When the session began, in seconds. */
  readonly signedInAt: number;
}

/**
 * Returns the account of a request's session. Throws `unauthenticated`, `insufficient_scope` where a good key came instead,
 * or `forbidden` for a request from another site.
 */
export async function requireSession(deps: SessionDependencies, request: FastifyRequest): Promise<SignedIn> {
  const verdict = assertSameOrigin(request, deps.allowedOrigins);
  if (!verdict.ok)
    throw new ServiceError('forbidden', { message: 'This request does not come from an allowed origin.' });
  const session = await readSession(deps.auth, request.headers).catch(async (error: unknown) => {
    // One who is signed in is not told otherwise, nor of an internal error, while the database restarts.
    throw await orDatabaseFailure(deps.pool, error);
  });
  if (session === undefined) {
    await refuseKey(deps, request);
    throw new ServiceError('unauthenticated', {
      message: 'This endpoint needs a session. Sign in at `/v1/auth/sign-in/email`.',
    });
  }
  const id = sessionIdOf(request);
  if (id !== undefined) await deps.onVerified(request, id);
  const account = await ensureAccount(deps.pool, { id: session.userId, name: session.email });
  if (account.created) await deps.onAccountMade(account);
  const { email, emailVerified, signedInAt } = session;
  return { ...account, email, emailVerified, signedInAt };
}
