import { authAnswers, authRequests } from '@sotto/wire';
import { contracts } from '../contract.ts';
import { anywhere, ofAuth } from '../errors.ts';

/** The answer of a route that has only to say that it is done. */
export const done = { answer: authAnswers.authStatusSchema, returns: 'Done.' } as const;

/** The routes of better-auth that sign users in and out and manage sessions. */
export const sessionContracts = contracts({
  'POST /v1/auth/sign-up/email': {
    operationId: 'signUp',
    summary: 'Sign up',
    limits: ['mail', 'otherMail', 'otherMailAccount'],
    credentials: [],
    body: authRequests.signUpSchema,
    answer: authAnswers.signedUpSchema,
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
    body: authRequests.signInSchema,
    answer: authAnswers.signedInSchema,
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
    answer: authAnswers.signedOutSchema,
    returns: 'The session has ended.',
    examples: { answer: { success: true } },
    errors: [...ofAuth],
  },
  'GET /v1/auth/get-session': {
    operationId: 'getSession',
    summary: 'Get the current session',
    credentials: ['session'],
    isOpenToAll: true,
    answer: authAnswers.authSessionSchema,
    returns: 'The session, or null if you are not signed in.',
    errors: [...anywhere],
  },
  'GET /v1/auth/list-sessions': {
    operationId: 'listSessions',
    summary: 'List your sessions',
    credentials: ['session'],
    answer: authAnswers.authSessionListSchema,
    returns: 'The active sessions.',
    errors: [...anywhere, 'unauthenticated'],
  },
  'POST /v1/auth/revoke-session': {
    operationId: 'revokeSession',
    summary: 'End one session',
    credentials: ['session'],
    body: authRequests.revokeSessionSchema,
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
    body: authRequests.changePasswordSchema,
    answer: authAnswers.passwordChangedSchema,
    returns: 'Changed.',
    examples: { body: { currentPassword: 'correct horse battery', newPassword: 'staple battery horse' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
});
