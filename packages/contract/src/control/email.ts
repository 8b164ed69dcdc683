import * as z from 'zod';
import { contracts } from '../contract.ts';
import { ofAuth } from '../errors.ts';
import { email } from '../fields.ts';
import { authUserSchema, done, ownPassword, password } from './sessions.ts';

const token = z.string().min(1).max(200);

export const emailOnlySchema = z.object({ email: email });

export const verifyEmailSchema = z.object({
  token,
  /** Required unless the caller is signed in. */
  password: ownPassword,
});

/** Answer of `POST /auth/verify-email`. `signedIn`: the cookie has a session. */
export const emailVerifiedSchema = z.strictObject({
  status: z.literal(true),
  signedIn: z.boolean(),
  user: authUserSchema,
});

export const changeEmailSchema = z.object({ newEmail: email, password: ownPassword });

export const resetPasswordSchema = z.object({ token, newPassword: password });

/** Answer of `POST /auth/request-password-reset`, the same for known and unknown addresses. */
export const resetRequestedSchema = z.strictObject({ status: z.literal(true), message: z.string() });

/** Routes of the addresses of users, and of the links that are mailed to them. */
export const emailContracts = contracts({
  'POST /v1/auth/send-verification-email': {
    operationId: 'sendVerificationEmail',
    summary: 'Send a link to verify an address',
    description: 'The answer is the same for every address. At most five links to one address are valid at a time.',
    limits: ['mail', 'otherMail', 'otherMailAccount'],
    credentials: [],
    body: emailOnlySchema,
    ...done,
    examples: { body: { email: 'ann@example.com' }, answer: { status: true } },
    errors: [...ofAuth],
  },
  'POST /v1/auth/verify-email': {
    operationId: 'verifyEmail',
    summary: 'Verify an address',
    description:
      'Send the token after `#` in the link. It is valid once, for an hour. If you are not signed in, also send the password, which signs you in. Works for the address of a sign-up and for a changed address.',
    limits: ['guess'],
    credentials: [],
    body: verifyEmailSchema,
    answer: emailVerifiedSchema,
    returns: 'The address is verified.',
    examples: { body: { token: 'as the link has it', password: 'correct horse battery' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/change-email': {
    operationId: 'changeEmail',
    summary: 'Change the address',
    description:
      'Sends a link to the new address. The change takes effect when you follow it, and the old address is notified.',
    limits: ['guess', 'password', 'mail', 'otherMail', 'otherMailAccount'],
    credentials: ['session'],
    body: changeEmailSchema,
    ...done,
    examples: { body: { newEmail: 'ann@new.example', password: 'correct horse battery' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated', 'session_not_fresh'],
  },
  'POST /v1/auth/request-password-reset': {
    operationId: 'requestPasswordReset',
    summary: 'Send a link to reset the password',
    description: 'The answer is the same for every address.',
    limits: ['mail', 'reset', 'resetAccount', 'resetDevice'],
    credentials: [],
    body: emailOnlySchema,
    answer: resetRequestedSchema,
    returns: 'If the account exists, a mail is sent.',
    examples: { body: { email: 'ann@example.com' } },
    errors: [...ofAuth],
  },
  'POST /v1/auth/reset-password': {
    operationId: 'resetPassword',
    summary: 'Reset the password',
    description:
      'Send the token after `#` in the link. It is valid once, for an hour. Ends all sessions and keeps passkeys. If the address was not verified before, it is now, and existing keys and members of the account are removed.',
    limits: ['guess'],
    credentials: [],
    body: resetPasswordSchema,
    ...done,
    examples: { body: { token: 'as the link has it', newPassword: 'staple battery horse' }, answer: { status: true } },
    errors: [...ofAuth],
  },
});
