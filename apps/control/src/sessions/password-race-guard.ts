import type { BetterAuthPlugin } from 'better-auth';
import { APIError, type createAuthMiddleware, getSessionFromCtx, isAPIError } from 'better-auth/api';
import { deleteSessionCookie } from 'better-auth/cookies';
import { and, eq, isNull } from 'drizzle-orm';
import { type AuthDatabase, authAccount, authUser } from '../database/auth-schema.ts';
import { findEmailProof, voidProofs } from './email-proofs.ts';
import { onPaths } from './on-paths.ts';

export interface PasswordRaceGuardOptions {
  readonly db: AuthDatabase;
  readonly now: () => number;
}

/** The user of a request, and the hash of their password when the request began. Null if the user does not have one. */
interface Stamp {
  readonly userId: string;
  password: string | null;
}

type Ctx = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0];

/** Requests that check a password, or continue one that did, and then begin a session or set another password. */
const paths = [
  '/sign-in/email',
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
  '/two-factor/disable',
  '/verify-email',
  '/change-password',
];

/**
 * Protects a new password from requests that were under way when it was set. Checking a password takes a tenth of a
 * second. A thief who keeps signing in with the old one could get a session just after the reset had ended all of them.
 * With a session, the thief could replace the owner's password.
 *
 * Interleavings: the guard reads the hash before the request checks anything, and again after its session is stored. A
 * reset stores the new hash first and then deletes sessions. So either this request sees the new hash and deletes its
 * session, or the reset sees the session and deletes it.
 */
export function passwordRaceGuard({ db, now }: PasswordRaceGuardOptions) {
  const stamps = new WeakMap<Request, Stamp>();
  const passwordOf = async (userId: string): Promise<string | null> => {
    const [row] = await db.select({ password: authAccount.password }).from(authAccount).where(credentialOf(userId));
    return row?.password ?? null;
  };
  const stampOf = async (ctx: Ctx): Promise<Stamp | undefined> => {
    const { email, token } = ctx.body as { readonly email?: unknown; readonly token?: unknown };
    if (ctx.path === '/sign-in/email') {
      if (typeof email !== 'string' || email.includes('\0')) return undefined;
      // Use one query, so that an address with an account takes no longer than one without.
      const [stamp] = await db
        .select({ userId: authUser.id, password: authAccount.password })
        .from(authUser)
        .innerJoin(authAccount, and(eq(authAccount.userId, authUser.id), eq(authAccount.providerId, 'credential')))
        .where(eq(authUser.email, email.toLowerCase()));
      return stamp;
    }
    const isLink = ctx.path === '/verify-email' && typeof token === 'string';
    const userId = isLink
      ? (await findEmailProof(db, token, now()))?.userId
      : ((await getSessionFromCtx(ctx))?.user.id ?? (await challengedUser(ctx)));
    return userId === undefined ? undefined : { userId, password: await passwordOf(userId) };
  };

  const plugin = {
    id: 'sotto-password-race-guard',
    hooks: {
      before: [
        onPaths(paths, async (ctx) => {
          const stamp = await stampOf(ctx);
          if (ctx.request && stamp !== undefined) stamps.set(ctx.request, stamp);
        }),
      ],
      after: [
        onPaths(paths, async (ctx) => {
          const stamp = ctx.request && stamps.get(ctx.request);
          const { returned, newSession, internalAdapter } = ctx.context;
          if (stamp === undefined || isAPIError(returned)) return;
          if ((await passwordOf(stamp.userId)) === stamp.password) return;
          if (newSession) await internalAdapter.deleteSession(newSession.session.token);
          deleteSessionCookie(ctx);
          // Also void a sign-in that still awaits its second factor.
          await voidProofs(db, stamp.userId);
          throw changedMeanwhile();
        }),
      ],
    },
  } satisfies BetterAuthPlugin;

  /**
   * Stores the password of a `change-password`, in place of better-auth. Replaces only the password that the request
   * has checked.
   */
  const replacePassword = async (password: string, request: Request | undefined): Promise<void> => {
    const stamp = request && stamps.get(request);
    const present = stamp?.password ?? null;
    const replaced =
      stamp === undefined
        ? []
        : await db
            .update(authAccount)
            .set({ password, updatedAt: new Date(now()) })
            .where(
              and(
                credentialOf(stamp.userId),
                present === null ? isNull(authAccount.password) : eq(authAccount.password, present),
              ),
            )
            .returning({ id: authAccount.id });
    if (stamp === undefined || replaced.length === 0) throw changedMeanwhile();
    stamp.password = password;
  };
  return { plugin, replacePassword };
}

const credentialOf = (userId: string) => and(eq(authAccount.userId, userId), eq(authAccount.providerId, 'credential'));

const changedMeanwhile = (): APIError =>
  new APIError('UNAUTHORIZED', {
    code: 'PASSWORD_CHANGED',
    message: 'The password was changed at the same time. Sign in with the new one',
  });

/**
 * Returns the id of the user who has passed the first step of a sign-in and must now show a second factor. The cookie
 * of the first step names the user.
 */
export async function challengedUser(ctx: Ctx): Promise<string | undefined> {
  const cookie = ctx.context.createAuthCookie('two_factor');
  const challenge = await ctx.getSignedCookie(cookie.name, ctx.context.secret);
  if (typeof challenge !== 'string') return undefined;
  return (await ctx.context.internalAdapter.findVerificationValue(challenge))?.value;
}
