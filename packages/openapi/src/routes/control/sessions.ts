import { anywhere } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';
import { done, emptyBody, ofAuth, authPost as post } from './session-route.ts';

const tag = 'Sessions';
const ann = { email: 'ann@example.com', password: 'correct horse battery' };
/** Of better-auth's routes those that people and programs sign in, out and manage sessions with. */
export const sessionRoutes: readonly RouteDescription[] = [
  post('sign-up/email', {
    operationId: 'signUp',
    summary: 'Sign up',
    credentials: [],
    body: { content: [json('SignUp', { name: 'Ann', ...ann })] },
    answers: [
      { status: 200, description: 'The person has an account, and signs in next.', content: [json('SignedUp')] },
    ],
    errors: ofAuth,
  }),
  post('sign-in/email', {
    operationId: 'signIn',
    summary: 'Sign in',
    description: 'The answer sets the session cookie: 30 days, renewed daily.',
    credentials: [],
    body: { content: [json('SignIn', ann)] },
    answers: [
      {
        status: 200,
        description:
          'Signed in; or, with `twoFactorRedirect`, the first of two steps, and the cookie is for the second.',
        content: [json('SignedIn')],
      },
    ],
    errors: [...ofAuth, 'unauthenticated', 'email_not_verified'],
  }),
  post('sign-out', {
    operationId: 'signOut',
    summary: 'Sign out',
    body: emptyBody,
    answers: [{ status: 200, description: 'The session has ended.', content: [json('SignedOut', { success: true })] }],
    errors: ofAuth,
  }),
  {
    method: 'get',
    path: '/v1/auth/get-session',
    operationId: 'getSession',
    tag,
    summary: 'Who is signed in',
    credentials: ['session'],
    answers: [{ status: 200, description: 'The session, or null without one.', content: [json('AuthSession')] }],
    errors: anywhere,
  },
  {
    method: 'get',
    path: '/v1/auth/list-sessions',
    operationId: 'listSessions',
    tag,
    summary: 'Own sessions',
    credentials: ['session'],
    answers: [{ status: 200, description: 'The sessions that have not ended.', content: [json('AuthSessionList')] }],
    errors: [...anywhere, 'unauthenticated'],
  },
  post('revoke-session', {
    operationId: 'revokeSession',
    summary: 'End one session',
    body: { content: [json('RevokeSession', { token: 'as `GET /v1/auth/list-sessions` has it' })] },
    answers: done,
    errors: [...ofAuth, 'unauthenticated'],
  }),
  post('revoke-other-sessions', {
    operationId: 'revokeOtherSessions',
    summary: 'End all sessions but this one',
    body: emptyBody,
    answers: done,
    errors: [...ofAuth, 'unauthenticated'],
  }),
  post('revoke-sessions', {
    operationId: 'revokeSessions',
    summary: 'End all sessions',
    body: emptyBody,
    answers: done,
    errors: [...ofAuth, 'unauthenticated'],
  }),
  post('change-password', {
    operationId: 'changePassword',
    summary: 'Change the password',
    body: {
      content: [json('ChangePassword', { currentPassword: ann.password, newPassword: 'staple battery horse' })],
    },
    answers: [{ status: 200, description: 'Changed.', content: [json('PasswordChanged')] }],
    errors: [...ofAuth, 'unauthenticated'],
  }),
];
