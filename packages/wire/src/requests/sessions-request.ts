import * as z from 'zod';

const password = z.string().min(8).max(128);

/** Body of `POST /auth/sign-up/email`. */
export const signUpSchema = z.object({ name: z.string(), email: z.email(), password });

/** Body of `POST /auth/sign-in/email`. */
export const signInSchema = z.object({
  email: z.email(),
  password: z.string(),
  /** False: the cookie ends with the browser. */
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
