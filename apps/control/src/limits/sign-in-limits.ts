import { networkOf } from '@sotto/server';
import { hashSecret } from '@sotto/state';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';
import type { FindDevice } from '../sessions/known-devices.ts';
import { type AttemptLimit, attemptLimit } from './attempt-limit.ts';
import { verifiedCredentialOf } from './verified-credentials.ts';

/** Counts a request for `path` (without `/v1/auth`) with its body. Throws `rate_limited` if it exceeds a limit. */
export type SignInLimits = (request: FastifyRequest, path: string, body: object) => Promise<void>;

export interface SignInLimitOptions {
  /** RATE_LIMIT_CONTROL. Every limit here is a fraction of it, so that one setting scales all of them. */
  readonly control: number;
  readonly findDevice: FindDevice;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Requests with a password, code, token or key that an attacker might guess. */
const guesses =
  /^\/(?:sign-in\/|verify-email$|reset-password$|change-password$|confirm-password$|change-email$|delete-account$|two-factor\/|passkey\/(?:verify|generate)-|callback\/)/;
/** Requests that send a mail to an address in the request. */
const mails = /^\/(?:sign-up\/email|request-password-reset|send-verification-email|change-email)$/;
/** Requests that contain the password of the signed-in user. */
const passwords =
  /^\/(?:change-password|confirm-password|change-email|delete-account|two-factor\/(?:enable|disable|generate-backup-codes))$/;

/** Requests with a code of the second factor. After sign-in, better-auth does not lock it. */
const codes = /^\/two-factor\/verify-(?:totp|backup-code)$/;

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
  const limit = (prefix: string, share: number, windowMs: number) =>
    attemptLimit(app, { prefix, max: Math.ceil(control / share), windowMs });
  const guessesByAddress = limit('guess', 10, minuteMs);
  const mailsByAddress = limit('mail', 20, minuteMs);
  const passwordsBySession = limit('password', 60, minuteMs);
  const codesBySession = limit('code', 20, hourMs);
  const signIns: AccountLimits = {
    byBoth: [limit('sign-in', 60, minuteMs), limit('sign-in-hour', 30, hourMs)],
    // So low that an attacker with many addresses cannot guess a password either.
    byAccount: limit('account', 6, hourMs),
    byDevice: limit('sign-in-device', 20, hourMs),
  };
  // Separate from other mail: an attacker who uses up this limit has sent the owner links to set a password.
  const resets: AccountLimits = {
    byBoth: [limit('reset', 200, hourMs)],
    byAccount: limit('reset-to', 120, 15 * minuteMs),
    byDevice: limit('reset-device', 200, 15 * minuteMs),
  };
  const otherMails: AccountLimits = {
    byBoth: [limit('mail-both', 200, hourMs)],
    byAccount: limit('mail-to', 120, 15 * minuteMs),
    byDevice: undefined,
  };
  const limitsOf = (path: string): AccountLimits | undefined => {
    if (path === '/sign-in/email') return signIns;
    if (path === '/request-password-reset') return resets;
    return mails.test(path) ? otherMails : undefined;
  };

  return async (request, path, body) => {
    const network = networkOf(request.ip);
    const email = emailOf(path, body);
    const limits = limitsOf(path);
    const device = email && limits?.byDevice && (await findDevice(request.headers.cookie, email));
    // A session or a known device is limited by itself, below, so that others at its address do not lock it out.
    const isSignedIn = passwords.test(path) && verifiedCredentialOf(request)?.kind === 'session';
    if (guesses.test(path) && !isSignedIn && !device) await guessesByAddress(request, network);
    // A session may request mail to any address, so that counts by the caller’s address, too.
    if (mails.test(path) && !device) await mailsByAddress(request, network);
    const bySession = passwords.test(path) ? passwordsBySession : codes.test(path) ? codesBySession : undefined;
    // Counts every session in the request, so that an attacker cannot add another one to get a fresh count for a
    // stolen one.
    if (bySession !== undefined)
      for (const token of sessionTokensOf(request.headers.cookie)) await bySession(request, hashSecret(token));
    if (email === undefined || limits === undefined) return;
    if (device) return limits.byDevice?.(request, device);
    // Hashed to limit its length, because a body may contain an address of any length.
    const account = hashSecret(email);
    for (const byBoth of limits.byBoth) await byBoth(request, `${network}:${account}`);
    await limits.byAccount(request, account);
  };
}

/** Returns the address in a body. Ignores fields that the route does not read. */
function emailOf(path: string, body: { readonly newEmail?: unknown; readonly email?: unknown }): string | undefined {
  const named = path === '/change-email' ? body.newEmail : body.email;
  return typeof named === 'string' ? named.trim().toLowerCase() : undefined;
}
