import { isIP } from 'node:net';
import { passkey } from '@better-auth/passkey';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError } from 'better-auth/api';
import { count, eq } from 'drizzle-orm';
import { type AuthDatabase, authPasskey, authUser } from '../database/auth-schema.ts';
import { guardCreate } from './guard-create.ts';

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

/** Wraps a better-auth adapter so that a user has at most `most` passkeys, also after two simultaneous registrations at the last place. */
export const limitPasskeys = (most: number, now: () => number) =>
  guardCreate('passkey', now, async (trx, userId) => {
    const present = await trx.count({ model: 'passkey', where: [{ field: 'userId', value: userId }] });
    if (present < most) return;
    const message = `There are ${present} passkeys of the account; the most is ${most}. Remove one first`;
    throw new APIError('CONFLICT', { code: 'TOO_MANY_PASSKEYS', message });
  });

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

/** Whether pages show the notice about earlier passkeys. */
export const passkeyReview = (db: AuthDatabase) => ({
  /** Returns when a password was set by mail while earlier passkeys stayed. Undefined: the user has reviewed them. */
  async resetAt(userId: string): Promise<Date | undefined> {
    const [user] = await db.select({ at: authUser.passkeysKeptAt }).from(authUser).where(eq(authUser.id, userId));
    return user?.at ?? undefined;
  },

  async end(userId: string): Promise<void> {
    await db.update(authUser).set({ passkeysKeptAt: null }).where(eq(authUser.id, userId));
  },
});
