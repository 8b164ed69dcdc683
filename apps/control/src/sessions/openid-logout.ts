import { hash } from 'node:crypto';
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type pg from 'pg';

/** A verified logout token (OpenID Connect Back-Channel Logout 1.0, 2.4). It has a subject, a session at the provider, or both. */
export interface LogoutToken {
  readonly id: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
  readonly issuedAt: Date;
}

/** Why a logout token is refused: the clause after "the token". */
export interface NotVerified {
  readonly why: string;
}

export interface LogoutTokenOptions {
  readonly jwks: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string | string[];
  readonly algorithms?: string[] | undefined;
  readonly now: Date;
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
/** An older token is refused, so that only those of this time need to be remembered. */
const maxAgeS = 10 * 60;
const clockToleranceS = 60;
const rememberedMs = 60 * 60 * 1000;

/** Verifies a logout token (2.6). Rejects with the error of `jose` if the provider's keys cannot be read. */
export async function readLogoutToken(
  token: string,
  { jwks, issuer, audience, algorithms, now }: LogoutTokenOptions,
): Promise<LogoutToken | NotVerified> {
  const verified = await jwtVerify(token, jwks, {
    ...{ issuer, audience, currentDate: now, maxTokenAge: maxAgeS, clockTolerance: clockToleranceS },
    // A provider signs with its private key. With a symmetric one, a public key could pass as the secret.
    algorithms: (algorithms ?? ['RS256']).filter((name) => /^(RS|PS|ES)\d{3}$|^(EdDSA|Ed25519)$/.test(name)),
    requiredClaims: ['iat', 'jti'],
  }).catch((error: unknown): NotVerified => {
    if (!(error instanceof errors.JOSEError) || ofKeys.has(error.code)) throw error;
    return { why: error instanceof errors.JWTClaimValidationFailed ? `has a wrong \`${error.claim}\`` : whyOf(error) };
  });
  if ('why' in verified) return verified;
  const { typ = 'JWT' } = verified.protectedHeader;
  const { jti = '', iat = 0, sub, sid, events, nonce } = verified.payload;
  const event = typeof events === 'object' && events !== null ? Reflect.get(events, logoutEvent) : undefined;
  if (!/^(application\/)?(logout\+)?jwt$/i.test(typ)) return { why: 'has a wrong `typ`' };
  if (typeof event !== 'object' || event === null) return { why: 'has no logout among its `events`' };
  // An ID token has one. It must not end sessions.
  if (nonce !== undefined) return { why: 'has a `nonce`, which no logout token has' };
  if (sub === undefined && typeof sid !== 'string') return { why: 'has neither `sub` nor `sid`' };
  const session = typeof sid === 'string' ? sid : undefined;
  return { id: hash('sha256', jti, 'base64url'), subject: sub, sid: session, issuedAt: new Date(iat * 1000) };
}

/** Errors of `jose` about the provider's keys, not about the token. */
const ofKeys: ReadonlySet<string> = new Set(['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']);

const whyOf = (error: errors.JOSEError): string =>
  error instanceof errors.JWTExpired ? 'has expired, or is older than ten minutes' : 'is not signed by the provider';

/**
 * Ends the sessions that a logout token names: those of `sid` or, without one, all of the person. Sessions that began after it stay.
 * False: the token came before.
 *
 * Interleavings: the logout is committed before sessions are deleted, so a sign-in that is under way sees it (`openid-sessions.ts`).
 * If this process dies between the two, the provider sends the token again, and sessions are deleted then.
 */
export async function endByLogout(
  pool: pg.Pool,
  { id, subject, sid, issuedAt }: LogoutToken,
  now: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into openid_logouts (id, subject, sid, at, expires_at) values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
    [id, subject ?? null, sid ?? null, issuedAt, new Date(now + rememberedMs)],
  );
  const ofSubject = `select user_id from auth_account where provider_id = 'openid' and account_id = $1`;
  if (sid === undefined) {
    await pool.query(
      `delete from auth_session where user_id in (${ofSubject})
         and date_trunc('second', coalesce(openid_at, created_at)) <= $2`,
      [subject, issuedAt],
    );
  } else {
    await pool.query(
      `delete from auth_session where openid_sid = $2 and ($1::text is null or user_id in (${ofSubject}))`,
      [subject ?? null, sid],
    );
  }
  return rowCount === 1;
}
