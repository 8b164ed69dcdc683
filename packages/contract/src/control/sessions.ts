import { omittable } from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { anywhere, ofAuth } from '../errors.ts';
import { email, instant } from '../fields.ts';

export const password = z.string().min(8).max(128);

export const personName = z.string().trim().min(1).max(100);

/** A password to compare. Any that was set is within the bounds of `password`. */
export const comparedPassword = z.string().max(128);

/** Required if the account has a password. */
export const ownPassword = omittable(comparedPassword);

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

export const signUpSchema = z.object({ name: personName, email: email, password });

/** Answer of `POST /auth/sign-up/email`. `token` is null, because signing up does not sign in. */
export const signedUpSchema = z.strictObject({ token: z.null(), user: authUserSchema });

export const signInSchema = z.object({
  email: email,
  password: comparedPassword,
  /** False: the cookie expires when the browser closes. */
  rememberMe: z.boolean().optional(),
});

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

export const authSessionListSchema = z.array(authSessionRowSchema);

/** Answer of routes that change sessions. */
export const authStatusSchema = z.strictObject({ status: z.boolean() });

export const revokeSessionSchema = z.object({ token: z.string().max(256) });

export const changePasswordSchema = z.object({
  currentPassword: comparedPassword,
  newPassword: password,
  revokeOtherSessions: z.boolean().optional(),
});

/** Answer of `POST /auth/change-password`. Has a token if the other sessions ended and this one was renewed. */
export const passwordChangedSchema = z.strictObject({ token: z.string().nullable(), user: authUserSchema });

/** The answer of a route that has only to say that it is done. */
export const done = { answer: authStatusSchema, returns: 'Done.' } as const;

/** The routes of better-auth that sign users in and out and manage sessions. */
export const sessionContracts = contracts({
  'POST /v1/auth/sign-up/email': {
    operationId: 'signUp',
    summary: 'Sign up',
    limits: ['mail', 'otherMail', 'otherMailAccount'],
    credentials: [],
    body: signUpSchema,
    answer: signedUpSchema,
    returns: 'The account exists. Sign in next.',
    examples: { body: { name: 'Ann', email: 'ann@example.com', password: 'correct horse battery' } },
    errors: [...ofAuth],
  },
  'POST /v1/auth/sign-in/email': {
    operationId: 'signIn',
    summary: 'Sign in',
    description: 'The answer sets the session cookie, which is valid for 30 days and renewed daily.',
    limits: ['guess', 'signIn', 'signInHour', 'signInAccount', 'signInDevice'],
    credentials: [],
    body: signInSchema,
    answer: signedInSchema,
    returns:
      'You are signed in. With `twoFactorRedirect`, a second factor is needed first, and the cookie is for that step.',
    examples: { body: { email: 'ann@example.com', password: 'correct horse battery' } },
    errors: [...ofAuth, 'unauthenticated', 'email_not_verified'],
  },
  'POST /v1/auth/sign-out': {
    operationId: 'signOut',
    summary: 'Sign out',
    credentials: ['session'],
    isOpenToAll: true,
    body: 'optional',
    answer: signedOutSchema,
    returns: 'The session has ended.',
    examples: { answer: { success: true } },
    errors: [...ofAuth],
  },
  'GET /v1/auth/get-session': {
    operationId: 'getSession',
    summary: 'Get the current session',
    credentials: ['session'],
    isOpenToAll: true,
    answer: authSessionSchema,
    returns: 'The session, or null if you are not signed in.',
    errors: [...anywhere],
  },
  'GET /v1/auth/list-sessions': {
    operationId: 'listSessions',
    summary: 'List your sessions',
    credentials: ['session'],
    answer: authSessionListSchema,
    returns: 'The active sessions.',
    errors: [...anywhere, 'unauthenticated'],
  },
  'POST /v1/auth/revoke-session': {
    operationId: 'revokeSession',
    summary: 'End one session',
    credentials: ['session'],
    body: revokeSessionSchema,
    ...done,
    examples: { body: { token: 'a token of `GET /v1/auth/list-sessions`' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/revoke-other-sessions': {
    operationId: 'revokeOtherSessions',
    summary: 'End all sessions but this one',
    credentials: ['session'],
    body: 'optional',
    ...done,
    examples: { answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/revoke-sessions': {
    operationId: 'revokeSessions',
    summary: 'End all sessions',
    credentials: ['session'],
    body: 'optional',
    ...done,
    examples: { answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/change-password': {
    operationId: 'changePassword',
    summary: 'Change the password',
    limits: ['guess', 'password'],
    credentials: ['session'],
    body: changePasswordSchema,
    answer: passwordChangedSchema,
    returns: 'Changed.',
    examples: { body: { currentPassword: 'correct horse battery', newPassword: 'staple battery horse' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
});
