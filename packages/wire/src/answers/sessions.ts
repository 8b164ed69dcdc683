import * as z from 'zod';

const instant = z.iso.datetime();

/** A person as `/auth` tells of them. */
export const authUserSchema = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  image: z.string().nullable(),
  emailVerified: z.boolean(),
  createdAt: instant,
  updatedAt: instant,
});

/** Answer of `POST /auth/sign-up/email`. `token` is null: whoever signed up is not signed in yet. */
export const signedUpSchema = z.strictObject({ token: z.null(), user: authUserSchema });

/** Answer of `POST /auth/sign-in/email`; the session itself is in the cookie. */
export const signedInSchema = z.strictObject({
  redirect: z.boolean(),
  token: z.string(),
  url: z.string().optional(),
  user: authUserSchema,
});

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

/** Answer of `GET /auth/get-session`; null without a session. */
export const authSessionSchema = z.strictObject({ session: authSessionRowSchema, user: authUserSchema }).nullable();

/** Answer of `GET /auth/list-sessions`. */
export const authSessionListSchema = z.array(authSessionRowSchema);

/** What a change to sessions answers. */
export const authStatusSchema = z.strictObject({ status: z.boolean() });

/** Answer of `POST /auth/change-password`; a token where the other sessions were ended and this one was renewed. */
export const passwordChangedSchema = z.strictObject({ token: z.string().nullable(), user: authUserSchema });
