import { hash, randomBytes } from 'node:crypto';
import { passwordOnlySchema } from '@sotto/contract/control/second-factor';
import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  type createAuthMiddleware,
  getSessionFromCtx,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { and, eq, gt } from 'drizzle-orm';
import { type AuthDatabase, authVerification } from '../database/auth-schema.ts';
import { contractBody } from './contract-body.ts';
import { onPaths } from './on-paths.ts';

export interface FreshProofOptions {
  readonly db: AuthDatabase;
  readonly now: () => number;
}

/** How long a confirmed password, or the start of a session, proves that the account's owner is present. */
const freshMs = 5 * 60 * 1000;

/** Whether a session is so new that it counts as a sign-in of this moment. */
const isFreshSession = ({ createdAt }: { readonly createdAt: Date | string }, now: number): boolean =>
  now - new Date(createdAt).getTime() < freshMs;

export const notFresh = (): APIError =>
  new APIError('FORBIDDEN', {
    code: 'SESSION_NOT_FRESH',
    message: 'Confirm your password or your second factor, or sign in again',
  });

/**
 * Requires the password of the signed-in user or, if the account has none, a sign-in of the last minutes. Throws
 * `INVALID_PASSWORD` or `SESSION_NOT_FRESH`.
 */
export async function assertOwner(ctx: SignedIn, password: string | undefined, now: number): Promise<void> {
  const { session, user } = ctx.context.session;
  const credential = await ctx.context.internalAdapter.findCredentialAccount(user.id);
  if (typeof credential?.password !== 'string') {
    if (!isFreshSession(session, now)) throw notFresh();
    return;
  }
  if (!(await ctx.context.password.verify({ hash: credential.password, password: password ?? '' })))
    throw new APIError('BAD_REQUEST', { code: 'INVALID_PASSWORD', message: 'The password is wrong' });
}

type Ctx = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0];
/** The context of an endpoint that requires a session. */
interface SignedIn {
  readonly context: Ctx['context'] & { readonly session: NonNullable<Ctx['context']['session']> };
}

const identifierOf = (token: string): string => `fresh-proof:${hash('sha256', token, 'base64url')}`;
const proofOf = (userId: string, sessionId: string): string => `${userId} fresh ${sessionId}`;

/**
 * Lets a person add a passkey only just after proving their identity. Otherwise a thief with a session cookie could add
 * one and keep access. `POST /confirm-password` returns a token that works once, for the session that asked. The page
 * that asked has the token; the cookie alone does not give it. An account without a password has signed in by a passkey
 * or the OpenID provider, and must do that again. A new password voids every token (`voidProofs`).
 */
export const freshProof = ({ db, now }: FreshProofOptions) => {
  /** Whether the session has a valid token. With `token`, accepts only that one and uses it up. */
  const isConfirmed = async (value: string, token?: string): Promise<boolean> => {
    const isGood = and(eq(authVerification.value, value), gt(authVerification.expiresAt, new Date(now())));
    const found =
      token === undefined
        ? await db.select({ id: authVerification.id }).from(authVerification).where(isGood)
        : await db
            .delete(authVerification)
            .where(and(eq(authVerification.identifier, identifierOf(token)), isGood))
            .returning({ id: authVerification.id });
    return found.length > 0;
  };

  const assertFresh = async (ctx: Ctx, readToken: () => string | undefined): Promise<void> => {
    const found = await getSessionFromCtx(ctx);
    // Without a session, better-auth itself answers 401.
    if (found === null) return;
    const { session, user } = found;
    const credential = await ctx.context.internalAdapter.findCredentialAccount(user.id);
    const isFresh =
      typeof credential?.password === 'string'
        ? await isConfirmed(proofOf(user.id, session.id), readToken())
        : isFreshSession(session, now());
    if (!isFresh) throw notFresh();
  };

  return {
    id: 'sotto-fresh-proof',
    endpoints: {
      confirmPassword: createAuthEndpoint(
        '/confirm-password',
        { method: 'POST', body: passwordOnlySchema, use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { session, user } = ctx.context.session;
          const credential = await ctx.context.internalAdapter.findCredentialAccount(user.id);
          const isRight =
            typeof credential?.password === 'string' &&
            (await ctx.context.password.verify({ hash: credential.password, password: ctx.body.password }));
          if (!isRight)
            throw new APIError('BAD_REQUEST', { code: 'INVALID_PASSWORD', message: 'The password is wrong' });
          const confirmation = randomBytes(32).toString('base64url');
          await db.insert(authVerification).values({
            id: randomBytes(16).toString('base64url'),
            identifier: identifierOf(confirmation),
            value: proofOf(user.id, session.id),
            expiresAt: new Date(now() + freshMs),
          });
          return ctx.json({ confirmation });
        },
      ),
    },
    hooks: {
      before: [
        // Check early, before the browser creates a passkey that would then be rejected.
        onPaths(['/passkey/generate-register-options'], (ctx) => assertFresh(ctx, () => undefined)),
        onPaths(['/passkey/verify-registration'], (ctx) =>
          assertFresh(ctx, () => contractBody<'POST /v1/auth/passkey/verify-registration'>(ctx).confirmation ?? ''),
        ),
      ],
    },
  } satisfies BetterAuthPlugin;
};
