import * as z from 'zod';

const instant = z.iso.datetime();

/** A user as `/auth` describes them. */
export const authUserSchema = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  image: z.string().nullable(),
  emailVerified: z.boolean(),
  twoFactorEnabled: z.boolean(),
  createdAt: instant,
  updatedAt: instant,
});

/** Answer of `POST /auth/sign-up/email`. `token` is null, because signing up does not sign in. */
export const signedUpSchema = z.strictObject({ token: z.null(), user: authUserSchema });

/**
 * Answer of `POST /auth/sign-in/email`. The session is in the cookie. With `twoFactorRedirect` there is no session until the
 * second factor.
 */
export const signedInSchema = z.union([
  z
    .strictObject({ redirect: z.boolean(), token: z.string(), url: z.string().optional(), user: authUserSchema })
    .meta({ title: 'SignedInUser' }),
  z
    .strictObject({ twoFactorRedirect: z.literal(true), twoFactorMethods: z.array(z.enum(['totp'])) })
    .meta({ title: 'SecondFactorAsked' }),
]);

/** Who may create an account. */
export const signUpModeSchema = z.enum(['open', 'invited', 'closed']);

/** Answer of `GET /auth/methods`: the ways to sign in, and whether the service sends mail. */
export const authMethodsSchema = z.strictObject({
  password: z.boolean(),
  passkey: z.boolean(),
  /** The operator's OpenID provider, by its displayed name. */
  openid: z.strictObject({ name: z.string() }).nullable(),
  /** `printed`: the service prints mail to its output. `none`: actions that need mail are unavailable. */
  mail: z.enum(['sent', 'printed', 'none']),
  sign_up: signUpModeSchema,
});
export type AuthMethods = z.infer<typeof authMethodsSchema>;

/** Answer of `POST /auth/sign-in/social`: the address to redirect the browser to. */
export const openidRedirectSchema = z.strictObject({ url: z.url(), redirect: z.boolean() });

/** Answer of `POST /auth/request-password-reset`, the same for known and unknown addresses. */
export const resetRequestedSchema = z.strictObject({ status: z.literal(true), message: z.string() });

/** Answer of `POST /auth/verify-email`. `signedIn`: the cookie has a session. */
export const emailVerifiedSchema = z.strictObject({
  status: z.literal(true),
  signedIn: z.boolean(),
  user: authUserSchema,
});

/** Answer of `POST /auth/two-factor/enable`, shown once. Two-factor sign-in starts with the first valid code. */
export const totpEnrolmentSchema = z.strictObject({
  method: z.literal('totp'),
  totpURI: z.string(),
  backupCodes: z.array(z.string()),
});

/** Answer of the second step of a sign-in, and of the first code of an authenticator app. */
export const secondFactorPassedSchema = z.strictObject({ token: z.string(), user: authUserSchema });

/** Answer of `POST /auth/two-factor/generate-backup-codes`. Earlier codes become invalid. */
export const backupCodesSchema = z.strictObject({ status: z.literal(true), backupCodes: z.array(z.string()) });

/** A passkey: its public key, and what its authenticator reported. */
export const passkeySchema = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  userId: z.string(),
  credentialID: z.string(),
  publicKey: z.string(),
  counter: z.int(),
  deviceType: z.string(),
  backedUp: z.boolean(),
  transports: z.string().nullable(),
  createdAt: instant.nullable(),
  aaguid: z.string().nullable(),
});

/** Answer of `POST /auth/confirm-password`: valid once, for five minutes, in this session. */
export const passwordConfirmedSchema = z.strictObject({ confirmation: z.string() });

/** Answer of `GET /auth/passkey/review`. */
export const passkeyReviewSchema = z.strictObject({
  /** When a password was reset by mail while the account had passkeys. Null once the user has reviewed them. */
  resetAt: instant.nullable(),
});

/** Answer of `GET /auth/passkey/list-user-passkeys`. */
export const passkeyListSchema = z.array(passkeySchema);

/** Answer of `POST /auth/passkey/update-passkey`. */
export const passkeyUpdatedSchema = z.strictObject({ passkey: passkeySchema });

/** Options of `navigator.credentials.create` or `get`, in the JSON form of WebAuthn Level 3. */
export const webauthnOptionsSchema = z.looseObject({ challenge: z.string() });

/** A way in which the account signs in. */
export const signInWaysSchema = z.array(
  z.looseObject({ id: z.string(), providerId: z.enum(['credential', 'openid']), createdAt: instant }),
);

export const signedOutSchema = z.looseObject({ success: z.literal(true) });

const authSessionRowSchema = z
  .strictObject({
    id: z.string(),
    userId: z.string(),
    /** Id of the session for `/auth/revoke-session`. Never the value of the cookie. */
    token: z.string(),
    expiresAt: instant,
    createdAt: instant,
    updatedAt: instant,
    ipAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
  })
  .meta({ title: 'SessionRow' });

/** Answer of `POST /auth/passkey/verify-authentication`. The session is in the cookie. */
export const passkeySignedInSchema = z.strictObject({ session: authSessionRowSchema, user: authUserSchema });

/** Answer of `GET /auth/get-session`; null without a session. */
export const authSessionSchema = passkeySignedInSchema.nullable();

/** Answer of `GET /auth/list-sessions`. */
export const authSessionListSchema = z.array(authSessionRowSchema);

/** Answer of routes that change sessions. */
export const authStatusSchema = z.strictObject({ status: z.boolean() });

/** Answer of `POST /auth/change-password`. Has a token if the other sessions ended and this one was renewed. */
export const passwordChangedSchema = z.strictObject({ token: z.string().nullable(), user: authUserSchema });
