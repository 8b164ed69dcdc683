import type { BetterAuthPlugin, GenericEndpointContext } from 'better-auth';
import { APIError, getSessionFromCtx } from 'better-auth/api';
import { eq, sql } from 'drizzle-orm';
import { decodeJwt } from 'jose';
import { type AuthDatabase, authSession } from '../database/auth-schema.ts';
import { onPaths } from './on-paths.ts';

/** What a verified ID token says. */
export interface OpenidClaims {
  readonly subject: string;
  /** The session at the provider. */
  readonly sid: string | undefined;
  readonly issuedAt: Date;
  /** In lower case. The provider has verified it (`refuseUnverified`). */
  readonly email: string;
  readonly groups: readonly string[];
}

export const passkeyPath = '/passkey/verify-authentication';

/** Requests on which better-auth replaces the session that they show. */
const replacing = [passkeyPath, '/two-factor/verify-totp', '/two-factor/disable', '/change-password'];

/** A session that is being replaced, and its tie to the provider. */
interface Replaced {
  readonly id: string;
  readonly userId: string;
  readonly tie: { readonly openidSid: string | null; readonly openidAt: Date | null };
}

/** What better-auth gives to a hook of the database. Null: no request is under way. */
export type HookContext = GenericEndpointContext | null;

export interface OpenidSessionsOptions {
  readonly db: AuthDatabase;
  /** False: only the OpenID provider begins sessions. */
  readonly hasPasswords: boolean;
  /** Undefined: no OpenID provider is configured. */
  readonly groupsClaim: string | undefined;
  /** Called after the provider has signed a user in, before the answer. A throw fails the sign-in. */
  readonly onOpenidSignIn: (userId: string, claims: OpenidClaims) => Promise<void>;
}

/** Ties sessions to the OpenID provider, which can end them. */
export function openidSessions({ db, hasPasswords, groupsClaim = 'groups', onOpenidSignIn }: OpenidSessionsOptions) {
  const claimsOf = new WeakMap<Request, OpenidClaims>();
  const replacedBy = new WeakMap<Request, Replaced>();

  const plugin = {
    id: 'sotto-openid-sessions',
    hooks: {
      before: [
        // A change of the password deletes the session before it stores the next one.
        onPaths(replacing, async (ctx) => {
          const shown = await getSessionFromCtx(ctx);
          if (shown === null || !ctx.request) return;
          const { id, userId } = shown.session;
          const { openidSid, openidAt } = authSession;
          const [tie] = await db.select({ openidSid, openidAt }).from(authSession).where(eq(authSession.id, id));
          if (tie !== undefined) replacedBy.set(ctx.request, { id, userId, tie });
        }),
      ],
    },
  } satisfies BetterAuthPlugin;

  /** Keeps what a request's ID token says. better-auth stores a token only after it has verified it. */
  const noteIdToken = ({ idToken }: { readonly idToken?: string | null | undefined }, ctx: HookContext): void => {
    if (typeof idToken !== 'string' || !ctx?.request) return;
    const { sub = '', sid, iat = 0, email, [groupsClaim]: groups } = decodeJwt(idToken);
    claimsOf.set(ctx.request, {
      subject: sub,
      sid: typeof sid === 'string' ? sid : undefined,
      issuedAt: new Date(iat * 1000),
      email: typeof email === 'string' ? email.toLowerCase() : '',
      groups: [groups ?? []].flat().filter((group) => typeof group === 'string'),
    });
  };

  /**
   * Completes a session that was stored. Throws, and deletes it, if its user was disabled or signed out by the provider meanwhile.
   *
   * Interleavings: a logout is stored first, and then deletes sessions. A disabling locks the user, to whom this session refers, before it
   * deletes them. This session is stored first, and then looks. So either this look sees them, or they see this session. A session that is
   * being replaced may end before the new one is stored. If only the provider begins sessions, the new one is then refused.
   */
  const begun = async (
    { id, userId }: { readonly id: string; readonly userId: string },
    ctx: HookContext,
  ): Promise<void> => {
    const claims = ctx?.request && claimsOf.get(ctx.request);
    let isWithoutProvider = claims === undefined;
    if (claims !== undefined) {
      const openid = { openidSid: claims.sid ?? null, openidAt: claims.issuedAt };
      await db.update(authSession).set(openid).where(eq(authSession.id, id));
      await onOpenidSignIn(userId, claims);
    } else {
      // A logout at the provider that ends the replaced session must end the new one, too.
      const replaced = ctx?.request && replacedBy.get(ctx.request);
      if (replaced?.userId === userId) {
        await db.update(authSession).set(replaced.tie).where(eq(authSession.id, id));
        isWithoutProvider = !(await exists(db, replaced.id));
      }
    }
    const code = isWithoutProvider && !hasPasswords ? 'signed_out' : await refusalOf(db, { id, userId });
    if (code === undefined) return;
    await db.delete(authSession).where(eq(authSession.id, id));
    throw new APIError('FORBIDDEN', { code, message: refusals[code] });
  };
  return { plugin, noteIdToken, begun };
}

const refusals = {
  account_disabled: 'This account is disabled. Ask the operator of this deployment',
  signed_out: 'This sign-in was ended at the same time, by the OpenID provider or in another session. Sign in again',
} as const;

const exists = async (db: AuthDatabase, id: string): Promise<boolean> =>
  (await db.select({ id: authSession.id }).from(authSession).where(eq(authSession.id, id))).length > 0;

/** Returns why a session must not be used. Disabling an account deletes its sessions. */
async function refusalOf(
  db: AuthDatabase,
  { id, userId }: { readonly id: string; readonly userId: string },
): Promise<keyof typeof refusals | undefined> {
  const { rows } = await db.execute<{ is_disabled: boolean; is_ended: boolean }>(
    sql`select exists (select from accounts where user_id = ${userId} and disabled_at is not null) as is_disabled,
          not exists (select from auth_session s where s.id = ${id} and not exists (
            select from openid_logouts l where l.sid = s.openid_sid or (l.sid is null and l.at >= s.openid_at
              and l.subject in (select w.account_id from auth_account w where w.user_id = ${userId} and w.provider_id = 'openid'))
          )) as is_ended`,
  );
  const [session] = rows;
  if (session?.is_disabled === true) return 'account_disabled';
  return session?.is_ended === true ? 'signed_out' : undefined;
}
