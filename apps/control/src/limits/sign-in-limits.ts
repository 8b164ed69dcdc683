import { hashSecret } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sessionCookieOf } from '../sessions/cookies.ts';

/** Counts a request for `path` (without `/v1/auth`) with its body; throws `rate_limited` where it is one too many. */
export type SignInLimits = (request: FastifyRequest, path: string, body: Buffer | undefined) => Promise<void>;

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
 * whether it exists or not: parts of RATE_LIMIT_CONTROL, so that the one setting says how narrow all of them are. Where control runs as several processes on one Redis, they count together.
 */
export function signInLimits(app: FastifyInstance, control: number): SignInLimits {
  const limit = (prefix: string, max: number, timeWindow: number) => {
    const keys = new WeakMap<FastifyRequest, string>();
    const count = app.createRateLimit({
      max,
      timeWindow,
      keyGenerator: (request) => `${prefix}:${keys.get(request) ?? ''}`,
    });
    return async (request: FastifyRequest, key: string): Promise<void> => {
      keys.set(request, key);
      const counted = await count(request);
      if (!counted.isAllowed && counted.isExceeded)
        throw new ServiceError('rate_limited', { retryAfterS: counted.ttl / 1000 });
    };
  };
  const guessesByAddress = limit('guess', Math.ceil(control / 10), minuteMs);
  const mailsByAddress = limit('mail', Math.ceil(control / 20), minuteMs);
  const passwordsBySession = limit('password', Math.ceil(control / 60), minuteMs);
  const signInsByBoth = limit('sign-in', Math.ceil(control / 60), minuteMs);
  // Wide enough that few can keep somebody out of their account, narrow enough that many cannot guess its password.
  const signInsByAccount = limit('account', Math.ceil(control / 6), 60 * minuteMs);
  const mailsByAccount = limit('mail-to', Math.ceil(control / 120), 15 * minuteMs);

  return async (request, path, body) => {
    if (guesses.test(path)) await guessesByAddress(request, request.ip);
    if (mails.test(path)) await mailsByAddress(request, request.ip);
    const session = sessionCookieOf(request.headers.cookie);
    if (session !== undefined && passwords.test(path)) await passwordsBySession(request, hashSecret(session));
    const account = accountOf(body);
    if (account === undefined) return;
    if (path === '/sign-in/email') {
      await signInsByBoth(request, `${request.ip}:${account}`);
      await signInsByAccount(request, account);
    }
    if (mails.test(path)) await mailsByAccount(request, account);
  };
}

/** The address that a body names, as a hash: none rests in Redis. */
function accountOf(body: Buffer | undefined): string | undefined {
  const text = body?.toString('utf8') ?? '';
  const { newEmail, email } = fieldsOf(text);
  const named = newEmail ?? email;
  return typeof named === 'string' ? hashSecret(named.trim().toLowerCase()) : undefined;
}

/** Of JSON, else of a form, which better-auth takes as well: of fields with one name the last counts. */
function fieldsOf(text: string): { readonly newEmail?: unknown; readonly email?: unknown } {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}
