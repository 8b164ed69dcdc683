import { hash, randomBytes } from 'node:crypto';
import { passwordOnlySchema, registerPasskeySchema } from '@sotto/wire';
import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  getSessionFromCtx,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { and, eq, gt } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { authVerification } from '../database/auth-schema.ts';

export interface FreshProofOptions {
  readonly db: NodePgDatabase<Record<string, unknown>>;
  readonly now: () => number;
}

/** How long a person has shown who they are: by a confirmed password, or by a session that has just begun. */
const freshMs = 5 * 60 * 1000;

/** Whether a session is so new that it stands for a sign-in of this moment. */
export const isFreshSession = ({ createdAt }: { readonly createdAt: Date | string }, now: number): boolean =>
  now - new Date(createdAt).getTime() < freshMs;

export const notFresh = (): APIError =>
  new APIError('FORBIDDEN', { code: 'SESSION_NOT_FRESH', message: 'Confirm your password, or sign in again' });

const identifierOf = (token: string): string => `fresh-proof:${hash('sha256', token, 'base64url')}`;
const proofOf = (userId: string, sessionId: string): string => `${userId} fresh ${sessionId}`;

type Ctx = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0];

/**
 * Lets passkeys be added only by a person who has just shown who they are, so that a stolen session cookie cannot make
 * itself a way in that lasts. `POST /confirm-password` gives a token that is good once, for the session that asked: the
 * page that asked has it, and the cookie alone does not. An account without a password has signed in by a passkey or the
 * OpenID provider, and does that again. A new password voids every token (`voidProofs`).
 */
export const freshProof = ({ db, now }: FreshProofOptions) => {
  /** A token of this session that is still good; with `token`, that one, which is used up. */
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
    // better-auth answers 401 itself.
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
        {
          // Early, before the browser has made a passkey that then is not taken.
          matcher: ({ path }) => path === '/passkey/generate-register-options',
          handler: createAuthMiddleware((ctx) => assertFresh(ctx, () => undefined)),
        },
        {
          matcher: ({ path }) => path === '/passkey/verify-registration',
          handler: createAuthMiddleware((ctx) =>
            assertFresh(ctx, () => registerPasskeySchema.parse(ctx.body).confirmation ?? ''),
          ),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
};
