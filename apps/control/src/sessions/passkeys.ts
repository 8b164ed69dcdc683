import { isIP } from 'node:net';
import { passkey } from '@better-auth/passkey';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError } from 'better-auth/api';

/**
 * Passkeys for pages of this origin. Each use shows that its owner was there, by fingerprint or PIN: then it is two
 * factors in one, and no other is asked for.
 */
export function passkeys(origin: string, trustedOrigins: readonly string[]): BetterAuthPlugin {
  const { hostname } = new URL(origin);
  return passkey({
    // Browsers take no address for an id: on this machine a passkey belongs to `localhost`.
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
