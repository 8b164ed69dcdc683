import * as z from 'zod';
import { contracts } from '../contract.ts';
import { anywhere, ofAuth, ofBodies } from '../errors.ts';
import { instant } from '../fields.ts';

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

export const signInWaysSchema = z.array(
  z.looseObject({ id: z.string(), providerId: z.enum(['credential', 'openid']), createdAt: instant }),
);

const url = z.string().max(2048);

/** Body of `POST /auth/sign-in/social`. The addresses that the browser returns to: paths, or addresses of this origin. */
export const openidSignInSchema = z.strictObject({
  provider: z.literal('openid'),
  callbackURL: url.optional(),
  errorCallbackURL: url.optional(),
});

/** Answer of `POST /auth/sign-in/social`: the address to redirect the browser to. */
export const openidRedirectSchema = z.strictObject({ url: z.url(), redirect: z.boolean() });

export const methodContracts = contracts({
  'GET /v1/auth/methods': {
    operationId: 'listSignInMethods',
    summary: 'Get the ways to sign in',
    credentials: [],
    answer: authMethodsSchema,
    returns: 'The ways to sign in to this deployment.',
    errors: [...anywhere],
  },
});

/** Signing in with the operator's OpenID provider, and the ways in which an account signs in. */
export const openidContracts = contracts({
  'POST /v1/auth/sign-in/social': {
    operationId: 'signInWithOpenid',
    summary: "Sign in with the operator's OpenID provider",
    limits: ['guess'],
    credentials: [],
    body: openidSignInSchema,
    answer: openidRedirectSchema,
    returns: 'The address to redirect the browser to.',
    examples: { body: { provider: 'openid', callbackURL: '/' } },
    errors: [...ofAuth, 'not_found'],
  },
  'GET /v1/auth/callback/{id}': {
    operationId: 'finishOpenidSignIn',
    summary: 'Complete an OpenID sign-in',
    description:
      'The OpenID provider sends the browser here. Redirects to `callbackURL`, or with `?error=` to `errorCallbackURL`.',
    limits: ['guess'],
    credentials: [],
    params: { id: { note: '`openid`.', maxLength: 64 } },
    status: 302,
    returns: 'A redirect to the page where the sign-in began.',
    answerHeaders: ['location'],
    errors: [...anywhere, 'not_found'],
  },
  'GET /v1/auth/list-accounts': {
    operationId: 'listSignInWays',
    summary: 'List the ways in which the account signs in',
    credentials: ['session'],
    answer: signInWaysSchema,
    returns: 'The ways: password, OpenID provider.',
    errors: [...anywhere, 'unauthenticated'],
  },
});

/** The route by which the OpenID provider ends sessions. better-auth has none. */
export const openidLogoutContracts = contracts({
  'POST /v1/auth/openid/logout': {
    operationId: 'endOpenidSessions',
    summary: 'End sessions for the OpenID provider',
    description:
      'For the OpenID provider only (OpenID Connect Back-Channel Logout 1.0). Ends the sessions of the `sid` in the token or, without one, all sessions of the person. A token works once.',
    credentials: [],
    otherBodies: [
      {
        mediaType: 'application/x-www-form-urlencoded',
        schema: {
          type: 'object',
          required: ['logout_token'],
          properties: {
            logout_token: { type: 'string', description: 'A JWT that the provider signed for this client.' },
          },
        },
      },
    ],
    returns: 'The sessions have ended.',
    errors: [...anywhere, ...ofBodies, 'not_found'],
  },
});
