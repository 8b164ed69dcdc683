import * as z from 'zod';

const instant = z.iso.datetime();

/** A person as `/auth` tells of them. */
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

/** Answer of `POST /auth/sign-up/email`. `token` is null: whoever signed up is not signed in yet. */
export const signedUpSchema = z.strictObject({ token: z.null(), user: authUserSchema });

/**
 * Answer of `POST /auth/sign-in/email`; the session itself is in the cookie. `twoFactorRedirect`: there is none yet, a
 * second factor comes next.
 */
export const signedInSchema = z.union([
  z.strictObject({ redirect: z.boolean(), token: z.string(), url: z.string().optional(), user: authUserSchema }),
  z.strictObject({ twoFactorRedirect: z.literal(true), twoFactorMethods: z.array(z.enum(['totp'])) }),
]);

/** Answer of `GET /auth/methods`: how people can sign in here, and whether mail is sent to them. */
export const authMethodsSchema = z.strictObject({
  password: z.boolean(),
  passkey: z.boolean(),
  /** The operator's OpenID provider, by the name that people know. */
  openid: z.strictObject({ name: z.string() }).nullable(),
  /** `printed` by the service where it runs; `none`: nothing that needs mail can be done. */
  mail: z.enum(['sent', 'printed', 'none']),
});
export type AuthMethods = z.infer<typeof authMethodsSchema>;

/** Answer of `POST /auth/sign-in/social`: where the browser goes next. */
export const openidRedirectSchema = z.strictObject({ url: z.url(), redirect: z.boolean() });

/** Answer of `POST /auth/request-password-reset`, for every address. */
export const resetRequestedSchema = z.strictObject({ status: z.literal(true), message: z.string() });

/** Answer of `POST /auth/verify-email`. `signedIn`: there is a session, in the cookie. */
export const emailVerifiedSchema = z.strictObject({
  status: z.literal(true),
  signedIn: z.boolean(),
  user: authUserSchema,
});

/** Answer of `POST /auth/two-factor/enable`: shown this once. It counts after the first code. */
export const totpEnrolmentSchema = z.strictObject({
  method: z.literal('totp'),
  totpURI: z.string(),
  backupCodes: z.array(z.string()),
});

/** Answer of the second step of a sign-in, and of the first code of an authenticator app. */
export const secondFactorPassedSchema = z.strictObject({ token: z.string(), user: authUserSchema });

/** Answer of `POST /auth/two-factor/generate-backup-codes`: the codes before are void. */
export const backupCodesSchema = z.strictObject({ status: z.literal(true), backupCodes: z.array(z.string()) });

/** A passkey: its public key, and what its authenticator told of itself. */
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

/** Answer of `POST /auth/confirm-password`: good once, for five minutes, for this session. */
export const passwordConfirmedSchema = z.strictObject({ confirmation: z.string() });
export type PasswordConfirmed = z.infer<typeof passwordConfirmedSchema>;

/** Answer of `GET /auth/passkey/review`. */
export const passkeyReviewSchema = z.strictObject({
  /** When a password was set by mail while the account had passkeys; null once their owner has reviewed them. */
  resetAt: instant.nullable(),
});
export type PasskeyReview = z.infer<typeof passkeyReviewSchema>;

/** Answer of `GET /auth/passkey/list-user-passkeys`. */
export const passkeyListSchema = z.array(passkeySchema);

/** Answer of `POST /auth/passkey/update-passkey`. */
export const passkeyUpdatedSchema = z.strictObject({ passkey: passkeySchema });

/** Options of `navigator.credentials.create` or `get`, in the JSON form of WebAuthn Level 3. */
export const webauthnOptionsSchema = z.looseObject({ challenge: z.string() });

/** A way that the account signs in by. */
export const signInWaysSchema = z.array(
  z.looseObject({ id: z.string(), providerId: z.enum(['credential', 'openid']), createdAt: instant }),
);

export const signedOutSchema = z.looseObject({ success: z.literal(true) });

const authSessionRowSchema = z.strictObject({
  id: z.string(),
  userId: z.string(),
  /** What `/auth/revoke-session` names it by; never what its cookie holds. */
  token: z.string(),
  expiresAt: instant,
  createdAt: instant,
  updatedAt: instant,
  ipAddress: z.string().nullable(),
  userAgent: z.string().nullable(),
});

/** Answer of `POST /auth/passkey/verify-authentication`; the session itself is in the cookie. */
export const passkeySignedInSchema = z.strictObject({ session: authSessionRowSchema, user: authUserSchema });

/** Answer of `GET /auth/get-session`; null without a session. */
export const authSessionSchema = z.strictObject({ session: authSessionRowSchema, user: authUserSchema }).nullable();

/** Answer of `GET /auth/list-sessions`. */
export const authSessionListSchema = z.array(authSessionRowSchema);

/** What a change to sessions answers. */
export const authStatusSchema = z.strictObject({ status: z.boolean() });

/** Answer of `POST /auth/change-password`; a token where the other sessions were ended and this one was renewed. */
export const passwordChangedSchema = z.strictObject({ token: z.string().nullable(), user: authUserSchema });
