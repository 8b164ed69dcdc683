import type { AuthMethods } from '@sotto/contract/control/sign-in-ways';
import type { BetterAuthOptions, BetterAuthPlugin } from 'better-auth';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { APIError, createAuthEndpoint } from 'better-auth/api';
import { betterAuth } from 'better-auth/minimal';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { and, eq, isNotNull } from 'drizzle-orm';
import {
  type AuthDatabase,
  authAccount,
  authPasskey,
  authSession,
  authTwoFactor,
  authUser,
  authVerification,
} from '../database/auth-schema.ts';
import { accounts } from '../database/schema.ts';
import type { Mail, Mailer } from '../mail/mail.ts';
import { accountDeletion } from './account-deletion.ts';
import { authMails, securityNotices } from './auth-mails.ts';
import { cookiePrefix, needsSecureCookies } from './cookies.ts';
import { emailEndpoints } from './email-endpoints.ts';
import { makeEmailProof, mayMailReset, voidProofs } from './email-proofs.ts';
import { factorProof } from './factor-proof.ts';
import { freshProof } from './fresh-proof.ts';
import { guardIncrements, hashTokens } from './hashed-token-adapter.ts';
import { knownDevices } from './known-devices.ts';
import { noteFailures } from './noted-failures.ts';
import { type OpenidSettings, openidProvider, refuseUnverified } from './openid-provider.ts';
import { keepPasskeys, limitPasskeys, passkeyReview, passkeys } from './passkeys.ts';
import { passwordRaceGuard } from './password-race-guard.ts';
import { sessionRevocation } from './revocation.ts';
import { sessionGates } from './session-gates.ts';
import { type SessionSecrets, versionedSecrets } from './session-secrets.ts';
import { assertMaySignUp, type SignUpPolicy, signUpGate } from './sign-up-policy.ts';

/** Path prefix of better-auth's routes on the control origin. */
export const authBasePath = '/v1/auth';

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
  /** better-auth uses only the tables of `auth-schema.ts`. */
  readonly db: AuthDatabase;
  /** `SESSION_SECRET`, at least 32 characters each. The first signs cookies and encrypts second factors. */
  readonly secrets: SessionSecrets;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  /** Further origins whose pages may call with cookies. Exact origins, no patterns. */
  readonly trustedOrigins: readonly string[];
  /**
   * Creates the account, wallet and workspace that every user has. Runs after user and credential are committed and
   * before the sign-up is answered. A throw fails the sign-up with 500 and leaves a user who can sign in. The callback
   * must therefore be idempotent, and the first use of a session must call it again.
   */
  readonly onSignUp: (user: SignedUpUser) => Promise<void>;
  /** Called after the address of a user, its verification or a way to sign in has changed. Must not throw. */
  readonly onIdentityChanged: (userId: string) => Promise<void>;
  /**
   * Removes what a person who never verified the address may have left in an account. Called when the owner of the
   * address sets a password by mail, after the sessions have ended. A throw fails that request with 500.
   */
  readonly onClaimed: (userId: string) => Promise<void>;
  /** Deletes a user with their account. Returns why it cannot be done, or undefined. */
  readonly deleteAccount: (userId: string) => Promise<string | undefined>;
  /**
   * Sends mail. With `how: 'sent'`, sign-in requires a verified address. Undefined if this deployment sends no mail.
   */
  readonly mailer: Mailer | undefined;
  /** Called when a mail could not be sent. Requests do not wait for mail. */
  readonly onMailFailed: (error: unknown) => void;
  readonly maxPasskeys: number;
  readonly openid: OpenidSettings | undefined;
  readonly signUp: Pick<SignUpPolicy, 'mode' | 'admits'>;
  readonly now: () => number;
}

/**
 * Builds the better-auth instance behind `/v1/auth`: email and password, passkeys, a second factor, the operator's
 * OpenID provider, and sessions. Sessions last 30 days, are renewed daily and store only hashes of their tokens. Throws
 * if a secret is too short or an origin is not an exact one.
 */
export function buildAuth(dependencies: AuthDependencies) {
  const { db, secrets, origin, trustedOrigins, onSignUp, onIdentityChanged, mailer, openid, signUp, now } =
    dependencies;
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
    // Without a transaction, a sign-up that fails half-way leaves a user without a credential, who can neither sign in
    // nor sign up again.
    transaction: true,
  });
  const withMaximum = limitPasskeys(dependencies.maxPasskeys, now);
  const mails = authMails(origin);
  const devices = knownDevices({ db, secrets });
  const raceGuard = passwordRaceGuard({ db, now });
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
    // Set the list as well: `BETTER_AUTH_SECRETS` in the environment overrides a lone `secret`.
    secrets: versionedSecrets(secrets),
    database: (options: BetterAuthOptions) => noteFailures(hashTokens(withMaximum(guardIncrements(adapter(options))))),
    databaseHooks: {
      user: {
        create: {
          // Every way to create a user passes here.
          before: async ({ email }) => assertMaySignUp(signUp, email),
          after: ({ id, email, name }) => onSignUp({ id, email, name }),
        },
        update: {
          // No user: it was deleted meanwhile.
          after: async (user: SignedUpUser | null) => {
            if (user !== null) await onIdentityChanged(user.id);
          },
        },
      },
      session: {
        create: {
          // Every way to sign in passes here.
          before: async ({ userId }) => assertEnabled(db, userId),
        },
      },
      // Sign-in needs only the person's identity. Do not store the provider's tokens, which may give access to more.
      account: {
        create: { before: withoutTokens, after: ({ userId }) => onIdentityChanged(userId) },
        update: {
          before: async (row, ctx) => {
            if (ctx?.path !== '/change-password' || typeof row.password !== 'string') return withoutTokens(row);
            await raceGuard.replacePassword(row.password, ctx.request);
            // `replacePassword` has stored it: false cancels better-auth's own update.
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
      // Signing in at once would reveal whether the address was new.
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
      // `fresh-proof.ts` decides which requests need a fresh sign-in. better-auth would go by the session's age alone.
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: [
      signUpGate(signUp),
      sessionGates({ db, hasMail: mailer !== undefined, now }),
      freshProof({ db, now }),
      sessionRevocation(),
      emailEndpoints({ db, mails, post, now }),
      accountDeletion({ deleteAccount: dependencies.deleteAccount, mails, post, now }),
      twoFactor({ issuer: 'Sotto', backupCodeOptions: { storeBackupCodes: 'encrypted' } }),
      passkeys(origin, trustedOrigins),
      passkeyReview(db),
      authMethods(async () => ({
        password: true,
        passkey: true,
        openid: openid ? { name: openid.name } : null,
        mail: mailer?.how ?? 'none',
        sign_up: (await signUp.mode()).mode,
      })),
      factorProof({ db, now }),
      securityNotices({ db, mails, post }),
      // Runs after the second factor, which may turn a session into a challenge.
      raceGuard.plugin,
      // Runs after every plugin that may revoke the new session.
      devices.plugin,
      ...(openid ? [openidProvider(openid)] : []),
    ],
    disabledPaths: unusedPaths,
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    // better-auth logs addresses. better-call prints foreign errors, with SQL parameters, unless they are thrown.
    logger: { disabled: true },
    onAPIError: { throw: true, errorURL: `${origin}/sign-in` },
    advanced: {
      cookiePrefix,
      useSecureCookies: needsSecureCookies(origin),
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax', path: '/' },
      // Set explicitly: better-auth switches the origin check off by itself if NODE_ENV is `test`.
      disableCSRFCheck: false,
      disableOriginCheck: false,
      ipAddress: { disableIpTracking: true },
    },
  });
  return Object.assign(auth, { findDevice: devices.find });
}

/** The better-auth instance that `buildAuth` returns. */
export type Auth = ReturnType<typeof buildAuth>;

/** Built-in better-auth routes for features that Sotto does not have. They are disabled, so they need no review. */
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

async function assertEnabled(db: AuthDatabase, userId: string): Promise<void> {
  const disabled = await db
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.userId, userId), isNotNull(accounts.disabledAt)));
  if (disabled.length === 0) return;
  throw new APIError('FORBIDDEN', {
    code: 'account_disabled',
    message: 'This account is disabled. Ask the operator of this deployment',
  });
}

const withoutTokens = async <Row extends object>(row: Row) => ({
  data: { ...row, accessToken: null, refreshToken: null, idToken: null },
});

/** better-auth would read `*` and `?` in a trusted origin as patterns. */
function exactOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new Error(`not an origin: ${origin}`);
  return origin;
}

/** `GET /methods`: the ways to sign in to this deployment, so that pages offer only those. */
const authMethods = (methods: () => Promise<AuthMethods>) =>
  ({
    id: 'sotto-methods',
    endpoints: {
      methods: createAuthEndpoint('/methods', { method: 'GET' }, async (ctx) => ctx.json(await methods())),
    },
  }) satisfies BetterAuthPlugin;
