import { misplacedKey } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import { type AccountIds, ensureAccount } from '../accounts/ensure-account.ts';
import { orDatabaseFailure } from '../database/failures.ts';
import type { Auth } from '../sessions/auth.ts';
import { isFreshFactor } from '../sessions/factor-proof.ts';
import { orNotedFailure } from '../sessions/noted-failures.ts';
import { assertSameOrigin, foreignOrigin } from '../sessions/same-origin.ts';
import { readSession } from '../sessions/session-reader.ts';
import { refuseKey } from './api-credentials.ts';

export interface SessionDependencies {
  readonly auth: Auth;
  readonly pool: pg.Pool;
  readonly allowedOrigins: readonly string[];
  /** Called after an account was created for a user who had none. */
  readonly onAccountCreated: (account: AccountIds) => Promise<void>;
  readonly now: () => number;
}

/** The user of a session. The address `email` is verified only if `emailVerified` is true. */
export interface SignedIn extends AccountIds {
  readonly userId: string;
  readonly sessionId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** When the session began, in Unix seconds. */
  readonly signedInAt: number;
}

/**
 * Returns the account of a request’s session. Throws `unauthenticated`, `insufficient_scope` if the request has a valid
 * key instead, or `forbidden` for a request from another site or of a disabled account.
 */
export async function requireSession(deps: SessionDependencies, request: FastifyRequest): Promise<SignedIn> {
  if (!assertSameOrigin(request, deps.allowedOrigins).ok) throw foreignOrigin();
  const session = await orNotedFailure(() => readSession(deps.auth, request.headers)).catch(async (error: unknown) => {
    // While the database restarts, a signed-in user must get `service_unavailable`, not `unauthenticated` or an
    // internal error.
    throw await orDatabaseFailure(deps.pool, error);
  });
  if (session === undefined) {
    await refuseKey(deps, request);
    throw new ServiceError('unauthenticated', {
      message: misplacedKey(request) ?? 'This endpoint needs a session. Sign in at `/v1/auth/sign-in/email`.',
    });
  }
  const { created, isDisabled, ...account } = await ensureAccount(deps.pool, {
    id: session.userId,
    name: session.email,
  });
  // Its sessions have ended, but one may have begun at the same moment.
  if (isDisabled) throw new ServiceError('forbidden', { message: 'This account is disabled.' });
  if (created) await deps.onAccountCreated(account);
  return { ...account, ...session };
}

/**
 * Returns the operator of a request's session. This is the only place that checks the role. Throws `not_found` for
 * other sessions, as for an unknown address, so that no answer reveals who is an operator. Throws `session_not_fresh`
 * if the request changes something and the session has shown no second factor within five minutes.
 */
export async function requireOperator(deps: SessionDependencies, request: FastifyRequest): Promise<SignedIn> {
  const caller = await requireSession(deps, request);
  const { rows } = await deps.pool.query<{ factor_at: Date | null }>(
    'select s.factor_at from auth_session s join operators o on o.user_id = s.user_id where s.id = $1',
    [caller.sessionId],
  );
  const [operator] = rows;
  if (operator === undefined) throw new ServiceError('not_found');
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isRead && !isFreshFactor(operator.factor_at, deps.now())) {
    throw new ServiceError('session_not_fresh', {
      message:
        'Confirm your second factor: enter a code of your authenticator app, or sign in with a passkey. It counts for five minutes.',
    });
  }
  return caller;
}
