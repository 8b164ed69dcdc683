import * as z from 'zod';
import { storableText } from '../field-schemas.ts';
import { omittable } from './without-nulls.ts';

const password = z.string().min(8).max(128);
/** Required if the account has a password. */
const ownPassword = omittable(z.string().max(128));

/** Body of `POST /auth/sign-up/email`. */
export const signUpSchema = z.object({ name: z.string(), email: z.email(), password });

/** Body of `POST /auth/sign-in/email`. */
export const signInSchema = z.object({
  email: z.email(),
  password: z.string(),
  /** False: the cookie expires when the browser closes. */
  rememberMe: z.boolean().optional(),
});

/** Body of `POST /auth/revoke-session`. */
export const revokeSessionSchema = z.object({ token: z.string().max(256) });

/** Body of `POST /auth/change-password`. */
export const changePasswordSchema = z.object({
  currentPassword: z.string(),
  newPassword: password,
  revokeOtherSessions: z.boolean().optional(),
});

/** Body of `POST /auth/send-verification-email` and `POST /auth/request-password-reset`. */
export const emailOnlySchema = z.object({ email: z.email() });

/** Body of `POST /auth/reset-password`. */
export const resetPasswordSchema = z.object({ token: z.string(), newPassword: password });

/** Body of `POST /auth/verify-email`. */
export const verifyEmailSchema = z.object({
  token: z.string().min(1).max(200),
  /** Required unless the caller is signed in. */
  password: omittable(z.string().max(128)),
});

/** Body of `POST /auth/change-email`. */
export const changeEmailSchema = z.object({ newEmail: z.email().max(254), password: ownPassword });

/** Body of `POST /auth/delete-account`. */
export const deleteAccountSchema = z.strictObject({
  /** The account's address, as a confirmation. */
  email: z.email().max(254),
  password: ownPassword,
});

const personName = storableText.trim().min(1).max(100);
const url = storableText.max(2048);

/** Body of `POST /auth/update-user`. */
export const updateUserSchema = z.strictObject({ name: personName });

/** Body of routes that require the password again. */
export const passwordOnlySchema = z.strictObject({ password: z.string() });

/** Body of `POST /auth/two-factor/verify-totp` and `POST /auth/two-factor/verify-backup-code`. */
export const secondFactorCodeSchema = z.strictObject({ code: storableText.trim().min(1).max(64) });

const publicKeyCredential = z.looseObject({ id: storableText.max(2048), rawId: storableText.max(2048) });

/** Body of `POST /auth/passkey/verify-registration`. `response` is the result of `navigator.credentials.create`, as JSON. */
export const registerPasskeySchema = z.strictObject({
  response: publicKeyCredential,
  name: personName.optional(),
  /** From `POST /auth/confirm-password`. Required if the account has a password. */
  confirmation: z.string().max(200).optional(),
});

/** Body of `POST /auth/passkey/verify-authentication`. `response` is the result of `navigator.credentials.get`, as JSON. */
export const passkeySignInSchema = z.strictObject({ response: publicKeyCredential });

/** Body of `POST /auth/passkey/update-passkey`. */
export const renamePasskeySchema = z.strictObject({ id: storableText, name: personName });

/** Body of `POST /auth/passkey/delete-passkey`. */
export const passkeyIdSchema = z.object({ id: storableText });

/** Body of `POST /auth/sign-in/social`. The addresses that the browser returns to: paths, or addresses of this origin. */
export const openidSignInSchema = z.strictObject({
  provider: z.literal('openid'),
  callbackURL: url.optional(),
  errorCallbackURL: url.optional(),
});
