import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint, sensitiveSessionMiddleware } from 'better-auth/api';
import { count, eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { authPasskey, authUser } from '../database/auth-schema.ts';

type Db = NodePgDatabase<Record<string, unknown>>;

/** Notes that a password was set by mail and that passkeys of before still sign in. Resolves to how many there are. */
export async function keepPasskeys(db: Db, userId: string, now: number): Promise<number> {
  const [kept] = await db.select({ passkeys: count() }).from(authPasskey).where(eq(authPasskey.userId, userId));
  const passkeys = kept?.passkeys ?? 0;
  if (passkeys > 0)
    await db
      .update(authUser)
      .set({ passkeysKeptAt: new Date(now) })
      .where(eq(authUser.id, userId));
  return passkeys;
}

/** `GET /passkey/review` and `POST /passkey/reviewed`: pages ask whether to show the notice, and end it. */
export const passkeyReview = (db: Db) =>
  ({
    id: 'sotto-passkey-review',
    endpoints: {
      readPasskeyReview: createAuthEndpoint(
        '/passkey/review',
        { method: 'GET', use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { id } = ctx.context.session.user;
          const [user] = await db.select({ at: authUser.passkeysKeptAt }).from(authUser).where(eq(authUser.id, id));
          return ctx.json({ resetAt: user?.at ?? null });
        },
      ),
      endPasskeyReview: createAuthEndpoint(
        '/passkey/reviewed',
        { method: 'POST', use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          await db.update(authUser).set({ passkeysKeptAt: null }).where(eq(authUser.id, ctx.context.session.user.id));
          return ctx.json({ status: true });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
