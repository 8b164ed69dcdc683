import { hash } from 'node:crypto';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, getSessionFromCtx } from 'better-auth/api';
import { and, eq, lt } from 'drizzle-orm';
import { type AuthDatabase, authPasskey, authVerification } from '../database/auth-schema.ts';
import { contractBody } from './contract-body.ts';
import { onPaths } from './on-paths.ts';
import { challengedUser } from './password-race-guard.ts';

export interface SessionGatesOptions {
  readonly db: AuthDatabase;
  readonly hasMail: boolean;
  readonly now: () => number;
}

const needsMail = ['/request-password-reset', '/send-verification-email', '/change-email'];

/**
 * Adding another way to sign in requires a verified address. Otherwise a stranger could sign up with another person's
 * address and keep access after its owner takes the account over.
 */
const needsVerifiedEmail = ['/two-factor/enable', '/passkey/generate-register-options', '/passkey/verify-registration'];

/** Checks before better-auth's own routes whether this user may make the request. */
export const sessionGates = ({ db, hasMail, now }: SessionGatesOptions) =>
  ({
    id: 'sotto-gates',
    hooks: {
      before: [
        onPaths(needsMail, async (ctx) => {
          const { path } = ctx;
          // Tell a caller without a session about that first.
          if (path === '/change-email' && (await getSessionFromCtx(ctx)) === null) throw new APIError('UNAUTHORIZED');
          if (!hasMail) {
            throw new APIError('BAD_REQUEST', {
              code: 'NO_MAIL',
              message: 'This deployment sends no mail, so this cannot be done. Ask whoever runs it',
            });
          }
        }),
        onPaths(needsVerifiedEmail, async (ctx) => {
          const session = await getSessionFromCtx(ctx);
          if (session && !session.user.emailVerified) {
            throw new APIError('FORBIDDEN', { code: 'EMAIL_NOT_VERIFIED', message: 'Confirm your address first' });
          }
        }),
        onPaths(['/passkey/update-passkey', '/passkey/delete-passkey'], async (ctx) => {
          const session = await getSessionFromCtx(ctx);
          const { id } = contractBody<'POST /v1/auth/passkey/delete-passkey'>(ctx);
          // For another user's passkey better-auth answers 401, which pages would take for an ended session.
          if (session && !(await ownsPasskey(db, session.user.id, id))) {
            throw new APIError('NOT_FOUND', { code: 'PASSKEY_NOT_FOUND', message: 'You have no such passkey' });
          }
        }),
        onPaths(['/two-factor/verify-totp'], async (ctx) => {
          const userId = (await getSessionFromCtx(ctx))?.user.id ?? (await challengedUser(ctx));
          const { code } = contractBody<'POST /v1/auth/two-factor/verify-totp'>(ctx);
          if (userId !== undefined && !(await isFirstUse(db, userId, code, now()))) {
            throw new APIError('UNAUTHORIZED', {
              code: 'INVALID_CODE',
              message: 'This code was used already. Wait for the next one',
            });
          }
        }),
      ],
    },
  }) satisfies BetterAuthPlugin;

async function ownsPasskey(db: AuthDatabase, userId: string, id: string): Promise<boolean> {
  const owned = await db
    .select({ id: authPasskey.id })
    .from(authPasskey)
    .where(and(eq(authPasskey.id, id), eq(authPasskey.userId, userId)));
  return owned.length > 0;
}

/** A code is valid in its own 30 s and in the periods before and after. */
const codeLifeMs = 2 * 60 * 1000;

/**
 * Whether a user shows this code for the first time (RFC 6238, 5.2: a code is accepted once). The row's id is derived
 * from user and code. Of two simultaneous attempts, only one can insert it.
 */
async function isFirstUse(db: AuthDatabase, userId: string, code: string, now: number): Promise<boolean> {
  const id = `totp:${hash('sha256', `${userId}:${code}`, 'base64url')}`;
  const row = { identifier: id, value: 'used', expiresAt: new Date(now + codeLifeMs) };
  const claimed = await db
    .insert(authVerification)
    .values({ id, ...row })
    .onConflictDoUpdate({
      target: authVerification.id,
      set: row,
      setWhere: lt(authVerification.expiresAt, new Date(now)),
    })
    .returning({ id: authVerification.id });
  return claimed.length > 0;
}
