import { hash } from 'node:crypto';
import {
  openidSignInSchema,
  passkeyIdSchema,
  passkeySignInSchema,
  passwordOnlySchema,
  registerPasskeySchema,
  renamePasskeySchema,
  requestError,
  secondFactorCodeSchema,
  updateUserSchema,
} from '@sotto/wire';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { and, eq, lt } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { z } from 'zod';
import { authPasskey, authVerification } from '../database/auth-schema.ts';
import { challengedUser } from './challenged-user.ts';

export interface SessionGatesOptions {
  readonly db: NodePgDatabase<Record<string, unknown>>;
  readonly hasMail: boolean;
  readonly now: () => number;
}

const needsMail: ReadonlySet<string> = new Set([
  '/request-password-reset',
  '/send-verification-email',
  '/change-email',
]);

/**
 * What opens an account beside its password is for whoever reads the mail of its address alone: else somebody could sign
 * up with an address of others and keep a way in when its owner takes it over.
 */
const needsVerifiedEmail: ReadonlySet<string> = new Set([
  '/two-factor/enable',
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
]);

/** Of bodies that better-auth reads loosely, what is taken here. */
const bodySchemas: Readonly<Record<string, z.ZodType>> = {
  '/update-user': updateUserSchema,
  // Without `trustDevice`, which would spare the second factor for a month.
  '/two-factor/verify-totp': secondFactorCodeSchema,
  '/two-factor/verify-backup-code': secondFactorCodeSchema,
  '/two-factor/enable': passwordOnlySchema,
  '/confirm-password': passwordOnlySchema,
  '/passkey/verify-registration': registerPasskeySchema,
  '/passkey/verify-authentication': passkeySignInSchema,
  '/passkey/update-passkey': renamePasskeySchema,
  '/passkey/delete-passkey': passkeyIdSchema,
  '/sign-in/social': openidSignInSchema,
};

/** What stands before better-auth's own routes: bodies that are not what they seem, and what is not for everybody. */
export const sessionGates = ({ db, hasMail, now }: SessionGatesOptions) =>
  ({
    id: 'sotto-gates',
    hooks: {
      before: [
        {
          // `disabledPaths` knows no patterns, and a token in a path is one in every log.
          matcher: ({ path }) => path === '/reset-password/:token',
          handler: createAuthMiddleware(async () => {
            throw new APIError('NOT_FOUND');
          }),
        },
        {
          matcher: ({ path }) => path !== undefined && (path in bodySchemas || needsMail.has(path)),
          handler: createAuthMiddleware(async (ctx) => {
            const { path, body } = ctx;
            // Whoever is not signed in is told that first.
            if (path === '/change-email' && (await getSessionFromCtx(ctx)) === null) throw new APIError('UNAUTHORIZED');
            if (!hasMail && needsMail.has(path)) {
              throw new APIError('BAD_REQUEST', {
                code: 'NO_MAIL',
                message: 'This deployment sends no mail, so this cannot be done. Ask whoever runs it',
              });
            }
            const parsed = bodySchemas[path]?.safeParse(body);
            if (parsed?.success === false) {
              throw new APIError('BAD_REQUEST', { code: 'INVALID_BODY', message: requestError(parsed.error).message });
            }
          }),
        },
        {
          matcher: ({ path }) => path !== undefined && needsVerifiedEmail.has(path),
          handler: createAuthMiddleware(async (ctx) => {
            const session = await getSessionFromCtx(ctx);
            if (session && !session.user.emailVerified) {
              throw new APIError('FORBIDDEN', { code: 'EMAIL_NOT_VERIFIED', message: 'Confirm your address first' });
            }
          }),
        },
        {
          matcher: ({ path }) => path === '/passkey/update-passkey' || path === '/passkey/delete-passkey',
          handler: createAuthMiddleware(async (ctx) => {
            const session = await getSessionFromCtx(ctx);
            const { id } = passkeyIdSchema.parse(ctx.body);
            // better-auth answers 401 for another's, which pages take for a session that has ended.
            if (session && !(await ownsPasskey(db, session.user.id, id))) {
              throw new APIError('NOT_FOUND', { code: 'PASSKEY_NOT_FOUND', message: 'You have no such passkey' });
            }
          }),
        },
        {
          matcher: ({ path }) => path === '/two-factor/verify-totp',
          handler: createAuthMiddleware(async (ctx) => {
            const userId = (await getSessionFromCtx(ctx))?.user.id ?? (await challengedUser(ctx));
            const { code } = secondFactorCodeSchema.parse(ctx.body);
            if (userId !== undefined && !(await isFirstUse(db, userId, code, now()))) {
              throw new APIError('UNAUTHORIZED', {
                code: 'INVALID_CODE',
                message: 'This code was used already. Wait for the next one',
              });
            }
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;

async function ownsPasskey(db: SessionGatesOptions['db'], userId: string, id: string): Promise<boolean> {
  const owned = await db
    .select({ id: authPasskey.id })
    .from(authPasskey)
    .where(and(eq(authPasskey.id, id), eq(authPasskey.userId, userId)));
  return owned.length > 0;
}

/** A code is good for its half minute and its neighbours. */
const codeLifeMs = 2 * 60 * 1000;

/**
 * Whether this is the first time that a user shows a code (RFC 6238, 5.2: a code is good once). One row a code, whose id
 * says which: of two at once, one is inserted.
 */
async function isFirstUse(db: SessionGatesOptions['db'], userId: string, code: string, now: number): Promise<boolean> {
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
