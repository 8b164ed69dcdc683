import type { AuthMethods } from '@sotto/contract/control/sign-in-ways';
import type { AuthContext, BetterAuthOptions } from 'better-auth';
import { betterAuth } from 'better-auth/minimal';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Mail, Mailer } from '../mail/mail.ts';
import { accountDeletion } from './account-deletion.ts';
import { authDatabase, type DatabaseDependencies, databaseHooks, type HookDependencies } from './auth-database.ts';
import { authMails, securityNotices } from './auth-mails.ts';
import { cookiePrefix, needsSecureCookies } from './cookies.ts';
import { emailEndpoints } from './email-endpoints.ts';
import { makeEmailProof, noteReset, voidProofs } from './email-proofs.ts';
import { factorProof } from './factor-proof.ts';
import { freshProof } from './fresh-proof.ts';
import { knownDevices } from './known-devices.ts';
import { type OpenidSettings, openidProvider, refuseUnverified } from './openid-provider.ts';
import { type OpenidClaims, openidSessions } from './openid-sessions.ts';
import { keepPasskeys, passkeyReview, passkeys } from './passkeys.ts';
import { passwordsOff, signsInOnlyByProvider } from './password-policy.ts';
import { passwordRaceGuard } from './password-race-guard.ts';
import { sessionRevocation } from './revocation.ts';
import { sessionGates } from './session-gates.ts';
import { type SessionSecrets, versionedSecrets } from './session-secrets.ts';
import { signUpGate } from './sign-up-policy.ts';

/** Path prefix of better-auth's routes on the control origin. */
const authBasePath = '/v1/auth';

const hourS = 60 * 60;
const dayS = 24 * hourS;
const minSecretLength = 32;

export interface AuthDependencies extends DatabaseDependencies, HookDependencies {
  /** `SESSION_SECRET`, at least 32 characters each. The first signs cookies and encrypts second factors. */
  readonly secrets: SessionSecrets;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  /** Further origins whose pages may call with cookies. Exact origins, no patterns. */
  readonly trustedOrigins: readonly string[];
  /**
   * Removes what a person who never verified the address may have left in an account. Called when the owner of the
   * address sets a password by mail, after the sessions have ended. A throw fails that request with 500.
   */
  readonly onClaimed: (userId: string) => Promise<void>;
  /** Called when a password was set by mail, after the sessions have ended. A throw fails that request with 500. */
  readonly onPasswordSet: (userId: string) => Promise<void>;
  /** Changes the address of a user, which a mailed link has proven. Resolves to false if another user has it. */
  readonly changeAddress: (userId: string, email: string) => Promise<boolean>;
  /** Deletes a user with their account. Returns why it cannot be done, or undefined. */
  readonly deleteAccount: (userId: string) => Promise<string | undefined>;
  /**
   * Sends mail. With `how: 'sent'`, sign-in requires a verified address. Undefined if this deployment sends no mail.
   */
  readonly mailer: Mailer | undefined;
  /** Called when a mail could not be sent. Requests do not wait for mail. */
  readonly onMailFailed: (error: unknown) => void;
  readonly openid: OpenidSettings | undefined;
  /** Called after the OpenID provider has signed a user in, before the answer. A throw fails the sign-in. */
  readonly onOpenidSignIn: (userId: string, claims: OpenidClaims) => Promise<void>;
}

/**
 * Builds the better-auth instance behind `/v1/auth`: email and password, passkeys, a second factor, the operator's
 * OpenID provider, and sessions. Sessions last 30 days, are renewed daily and store only hashes of their tokens. Throws
 * if a secret is too short or an origin is not an exact one.
 */
export function buildAuth(dependencies: AuthDependencies) {
  const { secrets, origin, trustedOrigins, mailer } = dependencies;
  if (secrets.some(({ length }) => length < minSecretLength))
    throw new Error(`the session secret needs ${minSecretLength} characters`);
  const parts = authParts(dependencies);
  const auth = betterAuth({
    appName: 'Sotto',
    baseURL: exactOrigin(origin),
    basePath: authBasePath,
    trustedOrigins: trustedOrigins.map(exactOrigin),
    secret: secrets[0],
    // Set the list as well: `BETTER_AUTH_SECRETS` in the environment overrides a lone `secret`.
    secrets: versionedSecrets(secrets),
    database: authDatabase(parts),
    databaseHooks: databaseHooks(parts, parts),
    user: { validateUserInfo: refuseUnverified },
    account: { accountLinking: { enabled: true, requireLocalEmailVerified: true, allowDifferentEmails: false } },
    emailAndPassword: emailAndPassword(parts, async (): Promise<UserStore> => (await auth.$context).internalAdapter),
    emailVerification: {
      sendOnSignUp: mailer !== undefined,
      sendOnSignIn: mailer?.how === 'sent',
      sendVerificationEmail: async ({ user }) => parts.mailVerification(user),
    },
    session: {
      expiresIn: 30 * dayS,
      updateAge: dayS,
      // `fresh-proof.ts` decides which requests need a fresh sign-in. better-auth would go by the session's age alone.
      freshAge: 0,
      cookieCache: { enabled: false },
    },
    plugins: authPlugins(parts),
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
  return Object.assign(auth, {
    findDevice: parts.devices.find,
    methods: () => authMethods(dependencies),
    revocation: sessionRevocation(parts.db),
    passkeyReview: passkeyReview(parts.db),
    /** Undefined: no OpenID provider is configured. */
    verifyLogout: parts.provider?.verifyLogout,
  });
}

type AuthParts = ReturnType<typeof authParts>;

/** Builds what several options of better-auth share. */
function authParts(dependencies: AuthDependencies) {
  const { db, secrets, origin, mailer, openid, now } = dependencies;
  const mails = authMails(origin);
  const post = mailer && ((mail: Mail) => void mailer.send(mail).catch(dependencies.onMailFailed));
  return {
    ...dependencies,
    mails,
    post,
    devices: knownDevices({ db, secrets }),
    raceGuard: passwordRaceGuard({ db, now }),
    provider: openid && openidProvider(openid, now),
    providerSessions: openidSessions({ ...dependencies, groupsClaim: openid?.groupsClaim }),
    async mailVerification(user: { readonly id: string; readonly email: string }): Promise<void> {
      if (post === undefined) return;
      const token = await makeEmailProof(db, { purpose: 'verify', userId: user.id, email: user.email }, now());
      if (token !== undefined) post(mails.verify(user.email, token));
    },
  };
}

/** What changes users and sessions in the same way as better-auth itself. */
type UserStore = Pick<AuthContext['internalAdapter'], 'deleteUserSessions' | 'updateUser'>;

/** `storeOf` returns the store of the instance that these options are for. */
const emailAndPassword = (parts: AuthParts, storeOf: () => Promise<UserStore>) => {
  const { db, mailer, mails, post, openid, devices, mailVerification, onClaimed, onPasswordSet, now } = parts;
  return {
    enabled: parts.hasPasswords,
    minPasswordLength: 8,
    maxPasswordLength: 128,
    // Signing in at once would reveal whether the address was new.
    autoSignIn: false,
    revokeSessionsOnPasswordReset: true,
    requireEmailVerification: mailer?.how === 'sent',
    resetPasswordTokenExpiresIn: hourS,
    sendResetPassword: async ({ user, token }, request) => {
      const isKnown = (await devices.find(request?.headers.get('cookie') ?? undefined, user.email)) !== undefined;
      if (!(await noteReset(db, { userId: user.id, isKnown }, now()))) return;
      const isProviders = openid !== undefined && (await signsInOnlyByProvider(db, user.id));
      post?.(isProviders ? mails.noPassword(user.email, openid.name) : mails.reset(user.email, token));
    },
    onExistingUserSignUp: async ({ user }) => {
      if (user.emailVerified) post?.(mails.known(user.email));
      else await mailVerification(user);
    },
    onPasswordReset: async ({ user }) => {
      const store = await storeOf();
      await voidProofs(db, user.id);
      await store.deleteUserSessions(user.id);
      await onPasswordSet(user.id);
      if (!user.emailVerified) {
        await onClaimed(user.id);
        await store.updateUser(user.id, { emailVerified: true });
      }
      post?.(mails.passwordSet(user.email, await keepPasskeys(db, user.id, now())));
    },
  } satisfies BetterAuthOptions['emailAndPassword'];
};

const authPlugins = (parts: AuthParts) => {
  const { db, origin, trustedOrigins, mailer, mails, post, openid, signUp, deleteAccount, raceGuard, devices, now } =
    parts;
  const { hasPasswords, provider } = parts;
  return [
    ...(hasPasswords ? [] : [passwordsOff(openid?.name ?? 'the OpenID provider')]),
    signUpGate(signUp),
    sessionGates({ db, hasMail: mailer !== undefined, now }),
    freshProof({ db, now }),
    emailEndpoints({ db, signUp, changeAddress: parts.changeAddress, mails, post, now }),
    accountDeletion({ deleteAccount, mails, post, now }),
    twoFactor({ issuer: 'Sotto', backupCodeOptions: { storeBackupCodes: 'encrypted' } }),
    passkeys(origin, trustedOrigins),
    factorProof({ db, now }),
    parts.providerSessions.plugin,
    securityNotices({ db, mails, post }),
    // Runs after the second factor, which may turn a session into a challenge.
    raceGuard.plugin,
    // Runs after every plugin that may revoke the new session.
    devices.plugin,
    ...(provider ? [provider.plugin] : []),
  ];
};

export type Auth = ReturnType<typeof buildAuth>;

/** better-auth would read `*` and `?` in a trusted origin as patterns. */
function exactOrigin(origin: string): string {
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new Error(`not an origin: ${origin}`);
  return origin;
}

/** Returns the ways to sign in to this deployment, so that pages offer only those. */
const authMethods = async ({ hasPasswords, openid, mailer, signUp }: AuthDependencies): Promise<AuthMethods> => ({
  password: hasPasswords,
  passkey: hasPasswords,
  openid: openid ? { name: openid.name } : null,
  mail: mailer?.how ?? 'none',
  sign_up: signUp.mode,
});
