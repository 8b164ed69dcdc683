import type { BetterAuthOptions } from 'better-auth';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { betterAuth } from 'better-auth/minimal';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { authAccount, authSession, authUser, authVerification } from '../database/auth-schema.ts';
import { cookiePrefix, needsSecureCookies } from './cookies.ts';
import { hashSessionTokens } from './hashed-token-adapter.ts';
import { sessionRevocation } from './revocation.ts';

const dayS = 24 * 60 * 60;
const minSecretLength = 32;

/** Where better-auth's routes live on the control origin. */
export const authBasePath = '/v1/auth';

/** A user who has just been created. */
export interface SignedUpUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface AuthDependencies {
  /** Only the tables of `auth-schema.ts` are touched. */
  readonly db: NodePgDatabase<Record<string, unknown>>;
  /** SESSION_SECRET: signs cookies, encrypts second factors. At least 32 characters. */
  readonly secret: string;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  /** Further origins whose pages may call with cookies. Exact origins, no patterns. */
  readonly trustedOrigins: readonly string[];
  /**
   * Makes what every user has (account, wallet, workspace). Runs after user and credential are committed and before the
   * sign-up is answered; a throw fails the sign-up with 500 and leaves a user who can sign in, so it must be idempotent
   * and be called again at first use of a session.
   */
  readonly onSignUp: (user: SignedUpUser) => Promise<void>;
}

/**
 * Builds the better-auth instance behind `/v1/auth`: email and password, sessions of 30 days renewed daily, tokens
 * hashed at rest. Throws where the secret is too short or an origin is not one.
 */
export function buildAuth({ db, secret, origin, trustedOrigins, onSignUp }: AuthDependencies) {
  if (secret.length < minSecretLength) throw new Error(`the session secret needs ${minSecretLength} characters`);
  const adapter = drizzleAdapter(db, {
    provider: 'pg',
    schema: { user: authUser, session: authSession, account: authAccount, verification: authVerification },
    // Without it a sign-up that fails half-way leaves a user without credential: unable to sign in or to sign up again.
    transaction: true,
  });

  return betterAuth({
    appName: 'Sotto',
    baseURL: exactOrigin(origin),
    basePath: authBasePath,
    trustedOrigins: trustedOrigins.map(exactOrigin),
    secret,
    // As a list too, because a lone `secret` yields to BETTER_AUTH_SECRETS in the environment.
    secrets: [{ version: 1, value: secret }],
    database: (options: BetterAuthOptions) => hashSessionTokens(adapter(options)),
    databaseHooks: {
      user: { create: { after: ({ id, email, name }) => onSignUp({ id, email, name }) } },
    },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: 8,
      maxPasswordLength: 128,
      // Signing in at once would tell a new address from a known one by the answer to a sign-up.
      autoSignIn: false,
      revokeSessionsOnPasswordReset: true,
    },
    session: { expiresIn: 30 * dayS, updateAge: dayS, cookieCache: { enabled: false } },
    // The identifier of a password reset contains its token.
    verification: { storeIdentifier: 'hashed' },
    plugins: [sessionRevocation()],
    disabledPaths: unusedPaths,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // better-auth logs addresses, and better-call prints foreign errors (with SQL parameters) unless they are thrown.
    logger: { disabled: true },
    onAPIError: { throw: true },
    advanced: {
      cookiePrefix,
      useSecureCookies: needsSecureCookies(origin),
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/' },
      // Said outright: better-auth switches the origin check off by itself where NODE_ENV is `test`.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { disableIpTracking: true },
    },
  });
}

/** What `buildAuth` makes. */
export type Auth = ReturnType<typeof buildAuth>;

/** Built-in routes of better-auth for features that Sotto does not have; gone, so that they need no watching. */
const unusedPaths = [
  '/account-info',
  '/error',
  '/get-access-token',
  '/link-social',
  '/ok',
  '/refresh-token',
  '/sign-in/social',
  '/unlink-account',
];

/** better-auth would read `*` and `?` in a trusted origin as patterns. */
function exactOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new Error(`not an origin: ${origin}`);
  return origin;
}
