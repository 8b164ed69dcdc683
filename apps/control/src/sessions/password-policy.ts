import type { BetterAuthPlugin, DBAdapter, DBTransactionAdapter, Where } from 'better-auth';
import { APIError, getSessionFromCtx } from 'better-auth/api';
import { eq } from 'drizzle-orm';
import { type AuthDatabase, authAccount } from '../database/auth-schema.ts';
import { onPaths } from './on-paths.ts';
import { type HookContext, passkeyPath } from './openid-sessions.ts';

/** The path of better-auth to which the OpenID provider sends browsers back. */
export const callbackPath = '/callback/:id';

/** Requests that take, check or set a password. */
const takesPassword = [
  '/sign-up/email',
  '/sign-in/email',
  '/request-password-reset',
  '/reset-password',
  '/change-password',
  '/confirm-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
];

/** Refuses every request with a password. `openidName` is the provider that people sign in with instead. */
export const passwordsOff = (openidName: string) =>
  ({
    id: 'sotto-passwords-off',
    hooks: {
      before: [
        onPaths(takesPassword, async () => {
          throw new APIError('FORBIDDEN', {
            code: 'passwords_off',
            message: `Passwords are off in this deployment. Sign in with ${openidName}`,
          });
        }),
      ],
    },
  }) satisfies BetterAuthPlugin;

/**
 * With passwords off, lets only the OpenID provider begin a session. A passkey may renew the session of its own user, which is how
 * operators confirm what they do. This list decides, not `takesPassword`: a path that better-auth adds begins no session.
 */
export async function assertBegunByProvider(userId: string, ctx: HookContext): Promise<void> {
  if (ctx?.path === callbackPath) return;
  if (ctx?.path === passkeyPath && (await getSessionFromCtx(ctx))?.user.id === userId) return;
  throw new APIError('FORBIDDEN', {
    code: 'passwords_off',
    message: 'Sign in with the OpenID provider of this deployment. A passkey only confirms what you do then',
  });
}

/**
 * Wraps a better-auth adapter so that users have no passwords. A password of before then proves nothing: what asks for it asks for a
 * sign-in of the last minutes instead.
 */
export const hidePasswords = (inner: DBAdapter): DBAdapter => ({
  ...inner,
  ...withoutPasswords(inner),
  transaction: (work) => inner.transaction((trx) => work({ ...trx, ...withoutPasswords(trx) })),
});

function withoutPasswords(inner: DBTransactionAdapter): Pick<DBTransactionAdapter, 'findOne' | 'findMany'> {
  const visible = (model: string, where: Where[] = []): Where[] =>
    model === 'account' ? [...where, { field: 'providerId', operator: 'ne', value: 'credential' }] : where;
  return {
    findOne: (call) => inner.findOne({ ...call, where: visible(call.model, call.where) }),
    findMany: (call) => inner.findMany({ ...call, where: visible(call.model, call.where) }),
  };
}

/**
 * Whether a user signs in only with the OpenID provider. Such a user gets no password by mail: whoever leaves the provider would keep
 * a way in. The operator can give one by `account link`.
 */
export async function signsInOnlyByProvider(db: AuthDatabase, userId: string): Promise<boolean> {
  const ways = await db
    .select({ providerId: authAccount.providerId })
    .from(authAccount)
    .where(eq(authAccount.userId, userId));
  return ways.length > 0 && ways.every(({ providerId }) => providerId === 'openid');
}
