import { openidLogoutContracts } from '@sotto/contract/control/sign-in-ways';
import { repeat, serveRoutes, takeBodies } from '@sotto/server';
import { type ErrorType, errorEnvelope, ServiceError } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import { refuseKey } from '../credentials/api-credentials.ts';
import { isDatabaseUnavailable, orDatabaseFailure } from '../database/failures.ts';
import type { Domain, RouteContext } from '../domain.ts';
import { limitByAddress } from '../limits/rate-limits.ts';
import { signInLimits } from '../limits/sign-in-limits.ts';
import { isUnused } from '../operator/sign-up-invitations.ts';
import type { Auth } from '../sessions/auth.ts';
import { hasSessionCookie } from '../sessions/cookies.ts';
import { endByLogout } from '../sessions/openid-logout.ts';
import { resealFactors, type SessionSecrets } from '../sessions/session-secrets.ts';
import type { ToEnvelope } from './auth-exchange.ts';
import { serveAuth } from './serve-auth.ts';

export interface SignInDependencies {
  readonly pool: pg.Pool;
  readonly sessionSecrets: SessionSecrets;
  /** False: people sign in only with the OpenID provider. */
  readonly hasPasswords: boolean;
  /** The public control origin. */
  readonly origin: string;
  /** RATE_LIMIT_CONTROL. */
  readonly controlLimit: number;
  readonly now: () => number;
}

const purgeMs = 600_000;
const resealMs = 60_000;

/** Serves better-auth’s routes, and maintains the data that they store. */
export function buildSignIn(deps: SignInDependencies): Domain {
  const { pool, sessionSecrets, hasPasswords, origin, controlLimit, now } = deps;
  return {
    async register({ app, sessions }: RouteContext) {
      await app.register(async (scope) => serveLogout(scope, { pool, auth: sessions.auth, now }));
      serveAuth(app, {
        auth: sessions.auth,
        sessions,
        origin,
        allowedOrigins: sessions.allowedOrigins,
        toEnvelope: authEnvelope,
        admit: signInLimits(app, { control: controlLimit, findDevice: sessions.auth.findDevice }),
        onUnauthenticated: async (request, { credentials }) => {
          if (credentials.includes('session') && !hasSessionCookie(request.headers.cookie))
            await refuseKey(sessions, request);
        },
        onFailed: async (error) => {
          if (isDatabaseUnavailable(error)) throw error;
          const failure = await orDatabaseFailure(pool, error);
          if (failure !== error) throw failure;
        },
      });
    },
    tasks: (failed) => [
      repeat(purgeMs, () => purgeExpired(pool, now()), failed('purge')),
      ...(hasPasswords ? [] : [repeat(purgeMs, () => endOtherSessions(pool), failed('purge'))]),
      repeat(resealMs, () => resealFactors(pool, sessionSecrets), failed('reseal')),
    ],
  };
}

/** By address: all logouts come from the provider's servers. To refuse a token takes one verification of a signature. */
const logoutsAMinute = 6_000;

/** Serves the back-channel logout, in a scope of its own: its body is a form. */
function serveLogout(
  app: FastifyInstance,
  { pool, auth, now }: Pick<SignInDependencies, 'pool' | 'now'> & { readonly auth: Pick<Auth, 'verifyLogout'> },
): void {
  app.removeAllContentTypeParsers();
  takeBodies(app, 'application/x-www-form-urlencoded');
  serveRoutes(app)(openidLogoutContracts)({
    'POST /v1/auth/openid/logout': {
      config: limitByAddress(logoutsAMinute),
      handler: async ({ request: { body } }) => {
        if (auth.verifyLogout === undefined) throw new ServiceError('not_found');
        const token = Buffer.isBuffer(body) ? new URLSearchParams(body.toString()).get('logout_token') : null;
        if (token === null) throw refusedLogout('The form has no `logout_token`');
        const logout = await auth.verifyLogout(token).catch(() => {
          throw new ServiceError('service_unavailable', {
            message: 'The keys of the OpenID provider cannot be read now. Send the token again.',
          });
        });
        if ('why' in logout) throw refusedLogout(`The token ${logout.why}`);
        if (!(await endByLogout(pool, logout, now()))) throw refusedLogout('The token was used before');
      },
    },
  });
}

const refusedLogout = (why: string): ServiceError =>
  new ServiceError('invalid_request', { message: `${why}.`, param: 'logout_token' });

/** Deletes expired sessions, links, codes, challenges, logouts and invitations, and invitations to sign up that are used. */
export async function purgeExpired(pool: pg.Pool, now: number): Promise<void> {
  for (const table of [
    'auth_session',
    'auth_verification',
    'openid_logouts',
    'sign_up_invitations',
    'workspace_invitations',
  ]) {
    await pool.query(`delete from ${table} where expires_at < $1`, [new Date(now)]);
  }
  await pool.query(`delete from sign_up_invitations i where not (${isUnused})`);
}

/**
 * Ends the sessions that the OpenID provider did not begin, once passwords are off. A sign-in of the provider notes so just after it has
 * stored the session.
 */
const endOtherSessions = (pool: pg.Pool): Promise<unknown> =>
  pool.query("delete from auth_session where openid_at is null and created_at < now() - interval '1 minute'");

const authTypes: Readonly<Record<number, ErrorType>> = {
  400: 'invalid_request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'invalid_request',
  429: 'rate_limited',
  503: 'service_unavailable',
};

/** Errors that pages distinguish have their own type. */
const authTypesByCode: Readonly<Record<string, ErrorType>> = {
  EMAIL_NOT_VERIFIED: 'email_not_verified',
  SESSION_NOT_FRESH: 'session_not_fresh',
};

/** Converts better-auth’s errors to our envelope. Its messages are fixed sentences and quote no input. */
function authEnvelope(
  status: number,
  code: string | undefined,
  message: string | undefined,
  requestId: string,
): ReturnType<ToEnvelope> {
  const known = authTypesByCode[code ?? ''];
  const type = known ?? authTypes[status] ?? 'internal_error';
  const isSaid = known !== undefined || type === 'internal_error' || !message;
  const error = new ServiceError(type, isSaid ? {} : { message: `${message}.`.replace(/\.\.$/, '.') });
  // Not better-auth's status: each type has one of its own.
  return { status: error.status, body: errorEnvelope(error, requestId) };
}
