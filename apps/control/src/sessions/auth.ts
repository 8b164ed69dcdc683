import type { BetterAuthOptions } from 'better-auth';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { betterAuth } from 'better-auth/minimal';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import {
  authAccount,
  authPasskey,
  authSession,
  authTwoFactor,
  authUser,
  authVerification,
} from '../database/auth-schema.ts';
import type { Mail, Mailer } from '../mail/mail.ts';
import { authMails } from './auth-mails.ts';
import { authMethods } from './auth-methods.ts';
import { authBasePath } from './auth-path.ts';
import { cookiePrefix, needsSecureCookies } from './cookies.ts';
import { emailEndpoints } from './email-endpoints.ts';
import { makeEmailProof, mayMailReset, voidProofs } from './email-proofs.ts';
import { freshProof } from './fresh-proof.ts';
import { holdGuards } from './guarded-adapter.ts';
import { hashTokens } from './hashed-token-adapter.ts';
import { knownDevices } from './known-devices.ts';
import { type OpenidSettings, openidProvider, refuseUnverified } from './openid-provider.ts';
import { keepPasskeys, passkeyReview } from './passkey-review.ts';
import { passkeys } from './passkeys.ts';
import { sessionRevocation } from './revocation.ts';
import { securityNotices } from './security-notices.ts';
import { sessionGates } from './session-gates.ts';
import { type SessionSecrets, versionedSecrets } from './session-secrets.ts';
import { steadyPassword } from './steady-password.ts';

const hourS = 60 * 60;
const dayS = 24 * hourS;
const minSecretLength = 32;

/** A user who has just been created. */
export interface SignedUpUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface AuthDependencies {
  /** Only the tables of `auth-schema.ts` are touched. */
  readonly db: NodePgDatabase<Record<string, unknown>>;
  /** SESSION_SECRET: the first signs cookies and encrypts second factors. At least 32 characters each. */
  readonly secrets: SessionSecrets;
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
  /**
   * Takes from an account what somebody may have left in it who never verified its address. Called when the owner of the
   * address sets a password by mail, after the sessions have ended; a throw fails that with 500.
   */
  readonly onClaimed: (userId: string) => Promise<void>;
  /** How mail leaves. `sent`: who signs in has verified their address. Undefined: there is none. */
  readonly mailer: Mailer | undefined;
  /** Told of a mail that could not be sent; no request waits for one. */
  readonly onMailFailed: (error: unknown) => void;
  readonly openid: OpenidSettings | undefined;
  readonly now: () => number;
}

/**
 * Builds the better-auth instance behind `/v1/auth`: email and password, passkeys, a second factor, the operator's
 * OpenID provider, and sessions of 30 days renewed daily, tokens hashed at rest. Throws where the secret is too short or
 * an origin is not one.
 */
export function buildAuth(dependencies: AuthDependencies) {
  const { db, secrets, origin, trustedOrigins, onSignUp, mailer, openid, now } = dependencies;
  if (secrets.some(({ length }) => length < minSecretLength))
    throw new Error(`the session secret needs ${minSecretLength} characters`);
  const adapter = drizzleAdapter(db, {
    provider: 'pg',
    schema: {
      user: authUser,
      session: authSession,
      account: authAccount,
      verification: authVerification,
      twoFactor: authTwoFactor,
      passkey: authPasskey,
    },
    // Without it a sign-up that fails half-way leaves a user without credential: unable to sign in or to sign up again.
    transaction: true,
  });
  const mails = authMails(origin);
  const devices = knownDevices({ db, secrets });
  const steady = steadyPassword({ db, now });
  const post = mailer && ((mail: Mail) => void mailer.send(mail).catch(dependencies.onMailFailed));
  const mailVerification = async (user: { readonly id: string; readonly email: string }): Promise<void> => {
    if (post === undefined) return;
    const token = await makeEmailProof(db, { purpose: 'verify', userId: user.id, email: user.email }, now());
    if (token !== undefined) post(mails.verify(user.email, token));
  };

  const auth = betterAuth({
    appName: 'Sotto',
    baseURL: exactOrigin(origin),
    basePath: authBasePath,
    trustedOrigins: trustedOrigins.map(exactOrigin),
    secret: secrets[0],
    // As a list too, because a lone `secret` yields to BETTER_AUTH_SECRETS in the environment.
    secrets: versionedSecrets(secrets),
    database: (options: BetterAuthOptions) => hashTokens(holdGuards(adapter(options))),
    databaseHooks: {
      user: { create: { after: ({ id, email, name }) => onSignUp({ id, email, name }) } },
      // Who somebody is was all there was to ask for: what else a provider's tokens open does not rest here.
      account: {
        create: { before: withoutTokens },
        update: {
          before: async (row, ctx) => {
            if (ctx?.path !== '/change-password' || typeof row.password !== 'string') return withoutTokens(row);
            await steady.replacePassword(row.password, ctx.request);
            // It is stored.
            return false;
          },
        },
      },
    },
    user: { validateUserInfo: refuseUnverified },
    account: { accountLinking: { enabled: true, requireLocalEmailVerified: true, allowDifferentEmails: false } },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: 8,
      maxPasswordLength: 128,
      // Signing in at once would tell a new address from a known one by the answer to a sign-up.
      autoSignIn: false,
      revokeSessionsOnPasswordReset: true,
      requireEmailVerification: mailer?.how === 'sent',
      resetPasswordTokenExpiresIn: hourS,
      sendResetPassword: async ({ user, token }, request) => {
        const isKnown = (await devices.find(request?.headers.get('cookie') ?? undefined, user.email)) !== undefined;
        if (await mayMailReset(db, { userId: user.id, isKnown }, now())) post?.(mails.reset(user.email, token));
      },
      onExistingUserSignUp: async ({ user }) => {
        if (user.emailVerified) post?.(mails.known(user.email));
        else await mailVerification(user);
      },
      onPasswordReset: async ({ user }) => {
        const { internalAdapter } = await auth.$context;
        await voidProofs(db, user.id);
        await internalAdapter.deleteUserSessions(user.id);
        if (!user.emailVerified) {
          await dependencies.onClaimed(user.id);
          await internalAdapter.updateUser(user.id, { emailVerified: true });
        }
        post?.(mails.passwordSet(user.email, await keepPasskeys(db, user.id, now())));
      },
    },
    emailVerification: {
      sendOnSignUp: mailer !== undefined,
      sendOnSignIn: mailer?.how === 'sent',
      sendVerificationEmail: async ({ user }) => mailVerification(user),
    },
    session: {
      expiresIn: 30 * dayS,
      updateAge: dayS,
      // What has to be fresh is said by `fresh-proof.ts`: better-auth goes by the age of the session alone.
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: [
      sessionGates({ db, hasMail: mailer !== undefined, now }),
      freshProof({ db, now }),
      sessionRevocation(),
      emailEndpoints({ db, mails, post, now }),
      twoFactor({ issuer: 'Sotto', backupCodeOptions: { storeBackupCodes: 'encrypted' } }),
      passkeys(origin, trustedOrigins),
      passkeyReview(db),
      authMethods({
        password: true,
        passkey: true,
        openid: openid ? { name: openid.name } : null,
        mail: mailer?.how ?? 'none',
      }),
      securityNotices({ db, mails, post }),
      // After the second factor, which may turn a session into a challenge.
      steady.plugin,
      // After all that may take a session back.
      devices.plugin,
      ...(openid ? [openidProvider(openid)] : []),
    ],
    disabledPaths: unusedPaths,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // better-auth logs addresses, and better-call prints foreign errors (with SQL parameters) unless they are thrown.
    logger: { disabled: true },
    onAPIError: { throw: true, errorURL: `${origin}/sign-in` },
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
  return Object.assign(auth, { findDevice: devices.find });
}

/** What `buildAuth` makes. */
export type Auth = ReturnType<typeof buildAuth>;

/** Built-in routes of better-auth for features that Sotto does not have; gone, so that they need no watching. */
const unusedPaths = [
  '/account-info',
  '/delete-user',
  '/delete-user/callback',
  '/error',
  '/get-access-token',
  '/link-social',
  '/ok',
  '/refresh-token',
  '/reset-password/:token',
  '/two-factor/get-totp-uri',
  '/two-factor/send-otp',
  '/two-factor/verify-otp',
  '/unlink-account',
  '/update-session',
  '/verify-password',
];

const withoutTokens = async <Row extends object>(row: Row) => ({
  data: { ...row, accessToken: null, refreshToken: null, idToken: null },
});

/** better-auth would read `*` and `?` in a trusted origin as patterns. */
function exactOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new Error(`not an origin: ${origin}`);
  return origin;
}
