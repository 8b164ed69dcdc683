import { type Contract, limitOf, type RateLimitName } from '@sotto/contract';
import { networkOf } from '@sotto/server';
import { hashSecret } from '@sotto/state';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';
import type { FindDevice } from '../sessions/known-devices.ts';
import { type AttemptLimit, attemptLimit } from './attempt-limit.ts';
import { verifiedCredentialOf } from './verified-credentials.ts';

/** Counts a request for a route with its body. Throws `rate_limited` if it exceeds a limit of the route. */
export type SignInLimits = (request: FastifyRequest, route: Pick<Contract, 'limits'>, body: object) => Promise<void>;

export interface SignInLimitOptions {
  /** RATE_LIMIT_CONTROL. Every limit here is a fraction of it, so that one setting scales all of them. */
  readonly control: number;
  readonly findDevice: FindDevice;
}

/** The limits of one account. They apply to accounts that do not exist as well, so that they reveal nothing. */
interface AccountLimits {
  /** Per network and account: far below `byAccount`, so that one attacker cannot use up the owner’s limit. */
  readonly byBoth: readonly AttemptLimit[];
  readonly byAccount: AttemptLimit;
  /** Replaces both for a device that has signed in to the account before. Undefined: devices do not matter. */
  readonly byDevice: AttemptLimit | undefined;
}

/**
 * The limits for signing in, besides the limit of every route: by the caller’s network and by the account in the
 * request, or by the session or known device instead.
 */
export function signInLimits(app: FastifyInstance, { control, findDevice }: SignInLimitOptions): SignInLimits {
  const limit = (name: RateLimitName) => attemptLimit(app, { prefix: name, ...limitOf(name, control) });
  const guessesByAddress = limit('guess');
  const mailsByAddress = limit('mail');
  const passwordsByAccount = limit('password');
  const codesByAccount = limit('code');
  const signIns: AccountLimits = {
    byBoth: [limit('signIn'), limit('signInHour')],
    byAccount: limit('signInAccount'),
    byDevice: limit('signInDevice'),
  };
  const resets: AccountLimits = {
    byBoth: [limit('reset')],
    byAccount: limit('resetAccount'),
    byDevice: limit('resetDevice'),
  };
  const otherMails: AccountLimits = {
    byBoth: [limit('otherMail')],
    byAccount: limit('otherMailAccount'),
    byDevice: undefined,
  };
  const limitsOf = (has: (name: RateLimitName) => boolean): AccountLimits | undefined =>
    has('signIn') ? signIns : has('reset') ? resets : has('otherMail') ? otherMails : undefined;

  return async (request, { limits: names = [] }, body) => {
    const has = (name: RateLimitName): boolean => names.includes(name);
    const network = networkOf(request.ip);
    const email = emailOf(body);
    const limits = limitsOf(has);
    const device = email && limits?.byDevice && (await findDevice(request.headers.cookie, email));
    const credential = verifiedCredentialOf(request);
    const session = credential?.kind === 'session' ? credential : undefined;
    // A session or a known device is limited by itself, below, so that others at its address do not lock it out.
    const isSignedIn = has('password') && session !== undefined;
    if (has('guess') && !isSignedIn && !device) await guessesByAddress(request, network);
    // A session may request mail to any address, so that counts by the caller’s address, too.
    if (has('mail') && !device) await mailsByAddress(request, network);
    const byAccount = has('password') ? passwordsByAccount : has('code') ? codesByAccount : undefined;
    if (byAccount !== undefined) {
      if (session !== undefined) await byAccount(request, session.owner);
      // Counts every session in the request, too, so that an attacker cannot add another one to get a fresh count for a
      // stolen one.
      for (const token of sessionTokensOf(request.headers.cookie)) await byAccount(request, hashSecret(token));
    }
    if (email === undefined || limits === undefined) return;
    if (device) return limits.byDevice?.(request, device);
    // Hashed, so that no counter names an address.
    const account = hashSecret(email);
    for (const byBoth of limits.byBoth) await byBoth(request, `${network}:${account}`);
    await limits.byAccount(request, account);
  };
}

/** Returns the address in a body, which has only fields that the route reads. */
function emailOf(body: { readonly newEmail?: unknown; readonly email?: unknown }): string | undefined {
  const named = body.newEmail ?? body.email;
  return typeof named === 'string' ? named.trim().toLowerCase() : undefined;
}
