import { isIP } from 'node:net';
import { passkey } from '@better-auth/passkey';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint, sensitiveSessionMiddleware } from 'better-auth/api';
import { count, eq } from 'drizzle-orm';
import { type AuthDatabase, authPasskey, authUser } from '../database/auth-schema.ts';

/**
 * Passkeys for pages of this origin. Each use requires the owner's fingerprint or PIN. A passkey therefore counts as
 * two factors, and sign-in with one does not ask for another.
 */
export function passkeys(origin: string, trustedOrigins: readonly string[]): BetterAuthPlugin {
  const { hostname } = new URL(origin);
  return passkey({
    // Browsers do not accept an IP address as a relying party id. A passkey for this machine belongs to `localhost`.
    rpID: isIP(hostname.replace(/^\[|\]$/g, '')) > 0 ? 'localhost' : hostname,
    rpName: 'Sotto',
    origin: [origin, ...trustedOrigins],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    registration: {
      afterVerification: async ({ verification }) => {
        assertPresent(verification.registrationInfo?.userVerified);
      },
    },
    authentication: {
      afterVerification: async ({ verification }) => {
        assertPresent(verification.authenticationInfo.userVerified);
      },
    },
    advanced: { webAuthnChallengeCookie: 'passkey' },
  });
}

function assertPresent(userVerified: boolean | undefined): void {
  if (userVerified === true) return;
  throw new APIError('UNAUTHORIZED', {
    code: 'AUTHENTICATION_FAILED',
    message: 'The passkey did not verify that its owner was there: set a PIN or a fingerprint for it',
  });
}

/** Records that a password was set by mail while earlier passkeys can still sign in. Returns the number of passkeys. */
export async function keepPasskeys(db: AuthDatabase, userId: string, now: number): Promise<number> {
  const [kept] = await db.select({ passkeys: count() }).from(authPasskey).where(eq(authPasskey.userId, userId));
  const passkeys = kept?.passkeys ?? 0;
  if (passkeys > 0)
    await db
      .update(authUser)
      .set({ passkeysKeptAt: new Date(now) })
      .where(eq(authUser.id, userId));
  return passkeys;
}

/**
 * `GET /passkey/review` tells pages whether to show the notice about earlier passkeys. `POST /passkey/reviewed` ends
 * it.
 */
export const passkeyReview = (db: AuthDatabase) =>
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
