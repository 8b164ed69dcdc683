import { repeat } from '@sotto/server';
import { type ErrorType, errorEnvelope, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { refuseKey } from '../credentials/api-credentials.ts';
import { isDatabaseUnavailable, orDatabaseFailure } from '../database/failures.ts';
import type { Domain, RouteContext } from '../domain.ts';
import { signInLimits } from '../limits/sign-in-limits.ts';
import { isUnused } from '../operator/sign-up-invitations.ts';
import { hasSessionCookie } from '../sessions/cookies.ts';
import { resealFactors, type SessionSecrets } from '../sessions/session-secrets.ts';
import type { ToEnvelope } from './auth-exchange.ts';
import { serveAuth } from './serve-auth.ts';

export interface SignInDependencies {
  readonly pool: pg.Pool;
  readonly sessionSecrets: SessionSecrets;
  /** The public control origin. */
  readonly origin: string;
  /** RATE_LIMIT_CONTROL. */
  readonly controlLimit: number;
  readonly now: () => number;
}

const purgeMs = 600_000;
const resealMs = 60_000;

/** Serves better-auth’s routes, and maintains the data that they store. */
export function buildSignIn({ pool, sessionSecrets, origin, controlLimit, now }: SignInDependencies): Domain {
  return {
    register({ app, sessions }: RouteContext) {
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
      repeat(resealMs, () => resealFactors(pool, sessionSecrets), failed('reseal')),
    ],
  };
}

/** Deletes expired sessions, links, codes, challenges and invitations, and invitations to sign up that are used. */
export async function purgeExpired(pool: pg.Pool, now: number): Promise<void> {
  for (const table of ['auth_session', 'auth_verification', 'sign_up_invitations', 'workspace_invitations']) {
    await pool.query(`delete from ${table} where expires_at < $1`, [new Date(now)]);
  }
  await pool.query(`delete from sign_up_invitations i where not (${isUnused})`);
}

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
