import { hashSecret } from '@sotto/state';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sessionTokensOf } from '../sessions/cookies.ts';
import { attemptLimit } from './attempt-limit.ts';
import { networkOf } from './network.ts';

/** Counts a request for `path` (without `/v1/auth`) with its body; throws `rate_limited` where it is one too many. */
export type SignInLimits = (request: FastifyRequest, path: string, body: object) => Promise<void>;

const minuteMs = 60_000;

/** What is tried with a password, a code, a token or a key that somebody might guess. */
const guesses =
  /^\/(?:sign-in\/|verify-email$|reset-password$|change-password$|change-email$|two-factor\/|passkey\/(?:verify|generate)-|callback\/)/;
/** What sends a mail to an address that anybody may name. */
const mails = /^\/(?:sign-up\/email|request-password-reset|send-verification-email|change-email)$/;
/** What takes the password of whoever is signed in. */
const passwords = /^\/(?:change-password|change-email|two-factor\/(?:enable|disable|generate-backup-codes))$/;

/**
 * The limits of signing in, beside the one of every route: by the caller's address, and by the account that is named,
 * whether it exists or not: parts of RATE_LIMIT_CONTROL, so that the one setting says how narrow all of them are.
 */
export function signInLimits(app: FastifyInstance, control: number): SignInLimits {
  const limit = (prefix: string, max: number, windowMs: number) => attemptLimit(app, { prefix, max, windowMs });
  const guessesByAddress = limit('guess', Math.ceil(control / 10), minuteMs);
  const mailsByAddress = limit('mail', Math.ceil(control / 20), minuteMs);
  const passwordsBySession = limit('password', Math.ceil(control / 60), minuteMs);
  const signInsByBoth = limit('sign-in', Math.ceil(control / 60), minuteMs);
  // Wide enough that few can keep somebody out of their account, narrow enough that many cannot guess its password.
  const signInsByAccount = limit('account', Math.ceil(control / 6), 60 * minuteMs);
  const mailsByAccount = limit('mail-to', Math.ceil(control / 120), 15 * minuteMs);

  return async (request, path, body) => {
    const network = networkOf(request.ip);
    if (guesses.test(path)) await guessesByAddress(request, network);
    if (mails.test(path)) await mailsByAddress(request, network);
    if (passwords.test(path)) {
      // Each that comes along, so that no other beside it gives a stolen one a fresh count.
      for (const token of sessionTokensOf(request.headers.cookie)) await passwordsBySession(request, hashSecret(token));
    }
    const account = accountOf(path, body);
    if (account === undefined) return;
    if (path === '/sign-in/email') {
      await signInsByBoth(request, `${network}:${account}`);
      await signInsByAccount(request, account);
    }
    if (mails.test(path)) await mailsByAccount(request, account);
  };
}

/** The address that a body names, as a hash: none rests in Redis. Of what a route does not read nothing counts. */
function accountOf(path: string, body: { readonly newEmail?: unknown; readonly email?: unknown }): string | undefined {
  const named = path === '/change-email' ? body.newEmail : body.email;
  return typeof named === 'string' ? hashSecret(named.trim().toLowerCase()) : undefined;
}
