import { networkOf } from '@sotto/http';
import { hashSecret } from '@sotto/state';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';
import type { FindDevice } from '../sessions/known-devices.ts';
import { type AttemptLimit, attemptLimit } from './attempt-limit.ts';

/** Counts a request for `path` (without `/v1/auth`) with its body; throws `rate_limited` where it is one too many. */
export type SignInLimits = (request: FastifyRequest, path: string, body: object) => Promise<void>;

export interface SignInLimitOptions {
  /** RATE_LIMIT_CONTROL. Every limit here is a part of it, so that one setting says how narrow all of them are. */
  readonly control: number;
  readonly findDevice: FindDevice;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Requests with a password, a code, a token or a key that a stranger might guess. */
const guesses =
  /^\/(?:sign-in\/|verify-email$|reset-password$|change-password$|confirm-password$|change-email$|two-factor\/|passkey\/(?:verify|generate)-|callback\/)/;
/** Requests that send a mail to an address that anybody may name. */
const mails = /^\/(?:sign-up\/email|request-password-reset|send-verification-email|change-email)$/;
/** Requests that take the password of the person who is signed in. */
const passwords =
  /^\/(?:change-password|confirm-password|change-email|two-factor\/(?:enable|disable|generate-backup-codes))$/;

/** The limits of one account. An account that does not exist has them too, so that they tell nothing of it. */
interface AccountLimits {
  /** From one network: far below `byAccount`, so that no single stranger uses up what the owner needs. */
  readonly byBoth: readonly AttemptLimit[];
  readonly byAccount: AttemptLimit;
  /** Of a device that has signed in to the account, in place of both; undefined: every caller is a stranger. */
  readonly byDevice: AttemptLimit | undefined;
}

/** The limits of signing in, beside the one of every route: by the caller's network, and by the account that is named. */
export function signInLimits(app: FastifyInstance, { control, findDevice }: SignInLimitOptions): SignInLimits {
  const limit = (prefix: string, share: number, windowMs: number) =>
    attemptLimit(app, { prefix, max: Math.ceil(control / share), windowMs });
  const guessesByAddress = limit('guess', 10, minuteMs);
  const mailsByAddress = limit('mail', 20, minuteMs);
  const passwordsBySession = limit('password', 60, minuteMs);
  const signIns: AccountLimits = {
    byBoth: [limit('sign-in', 60, minuteMs), limit('sign-in-hour', 30, hourMs)],
    // Narrow enough that many addresses together cannot guess a password.
    byAccount: limit('account', 6, hourMs),
    byDevice: limit('sign-in-device', 20, hourMs),
  };
  // Apart from other mail: a stranger who uses these up leaves links to set a password in the owner's mailbox.
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
    if (guesses.test(path)) await guessesByAddress(request, network);
    if (mails.test(path)) await mailsByAddress(request, network);
    if (passwords.test(path)) {
      // Each that comes along, so that no other beside it gives a stolen one a fresh count.
      for (const token of sessionTokensOf(request.headers.cookie)) await passwordsBySession(request, hashSecret(token));
    }
    const email = emailOf(path, body);
    const limits = limitsOf(path);
    if (email === undefined || limits === undefined) return;
    const device = limits.byDevice && (await findDevice(request.headers.cookie, email));
    if (device !== undefined) return limits.byDevice?.(request, device);
    // Hashed for its length alone: bodies may name an address of any.
    const account = hashSecret(email);
    for (const byBoth of limits.byBoth) await byBoth(request, `${network}:${account}`);
    await limits.byAccount(request, account);
  };
}

/** The address that a body names. Fields that a route does not read do not count. */
function emailOf(path: string, body: { readonly newEmail?: unknown; readonly email?: unknown }): string | undefined {
  const named = path === '/change-email' ? body.newEmail : body.email;
  return typeof named === 'string' ? named.trim().toLowerCase() : undefined;
}
