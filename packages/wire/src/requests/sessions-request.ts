import * as z from 'zod';
import { emailSchema } from '../field-schemas.ts';
import { maxAuthBytes } from './content-bounds.ts';
import { omittable } from './without-nulls.ts';

const password = z.string().min(8).max(128);
const personName = z.string().trim().min(1).max(100);
/** Required if the account has a password. */
/** A password to compare. Any that was set is within the bounds of `password`. */
const comparedPassword = z.string().max(128);
const ownPassword = omittable(comparedPassword);
const token = z.string().min(1).max(200);

/** Body of `POST /auth/sign-up/email`. */
export const signUpSchema = z.object({ name: personName, email: emailSchema, password });

/** Body of `POST /auth/sign-in/email`. */
export const signInSchema = z.object({
  email: emailSchema,
  password: comparedPassword,
  /** False: the cookie expires when the browser closes. */
  rememberMe: z.boolean().optional(),
});

/** Body of `POST /auth/revoke-session`. */
export const revokeSessionSchema = z.object({ token: z.string().max(256) });

/** Body of `POST /auth/change-password`. */
export const changePasswordSchema = z.object({
  currentPassword: comparedPassword,
  newPassword: password,
  revokeOtherSessions: z.boolean().optional(),
});

/** Body of `POST /auth/send-verification-email` and `POST /auth/request-password-reset`. */
export const emailOnlySchema = z.object({ email: emailSchema });

/** Body of `POST /auth/reset-password`. */
export const resetPasswordSchema = z.object({ token, newPassword: password });

/** Body of `POST /auth/verify-email`. */
export const verifyEmailSchema = z.object({
  token,
  /** Required unless the caller is signed in. */
  password: ownPassword,
});

/** Body of `POST /auth/change-email`. */
export const changeEmailSchema = z.object({ newEmail: emailSchema, password: ownPassword });

/** Body of `POST /auth/delete-account`. */
export const deleteAccountSchema = z.strictObject({
  /** The account's address, as a confirmation. */
  email: emailSchema,
  password: ownPassword,
});

const url = z.string().max(2048);

/** Body of `POST /auth/update-user`. */
export const updateUserSchema = z.strictObject({ name: personName });

/** Body of routes that require the password again. */
export const passwordOnlySchema = z.strictObject({ password: comparedPassword });

/**
 * Body of `POST /auth/two-factor/verify-totp` and `POST /auth/two-factor/verify-backup-code`. Strict, because better-auth has a field
 * that would skip the second factor for a month.
 */
export const secondFactorCodeSchema = z.strictObject({ code: z.string().trim().min(1).max(64) });

const publicKeyCredential = z
  .looseObject({ id: z.string().max(2048), rawId: z.string().max(2048) })
  .meta({ 'x-max-bytes': maxAuthBytes });

/** Body of `POST /auth/passkey/verify-registration`. `response` is the result of `navigator.credentials.create`, as JSON. */
export const registerPasskeySchema = z.strictObject({
  response: publicKeyCredential,
  name: personName.optional(),
  /** From `POST /auth/confirm-password`. Required if the account has a password. */
  confirmation: z.string().max(200).optional(),
});

/** Body of `POST /auth/passkey/verify-authentication`. `response` is the result of `navigator.credentials.get`, as JSON. */
export const passkeySignInSchema = z.strictObject({ response: publicKeyCredential });

const passkeyId = z.string().min(1).max(64);

/** Body of `POST /auth/passkey/update-passkey`. */
export const renamePasskeySchema = z.strictObject({ id: passkeyId, name: personName });

/** Body of `POST /auth/passkey/delete-passkey`. */
export const passkeyIdSchema = z.object({ id: passkeyId });

/** Body of `POST /auth/sign-in/social`. The addresses that the browser returns to: paths, or addresses of this origin. */
export const openidSignInSchema = z.strictObject({
  provider: z.literal('openid'),
  callbackURL: url.optional(),
  errorCallbackURL: url.optional(),
});
