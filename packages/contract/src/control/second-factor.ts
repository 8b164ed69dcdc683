import * as z from 'zod';
import { contracts } from '../contract.ts';
import { ofAuth } from '../errors.ts';
import { authUserSchema, comparedPassword, done } from './sessions.ts';

/** Body of routes that require the password again. */
export const passwordOnlySchema = z.strictObject({ password: comparedPassword });

/** Answer of `POST /auth/two-factor/enable`, shown once. Two-factor sign-in starts with the first valid code. */
export const totpEnrolmentSchema = z.strictObject({
  method: z.literal('totp'),
  totpURI: z.string(),
  backupCodes: z.array(z.string()),
});

/**
 * Body of `POST /auth/two-factor/verify-totp` and `POST /auth/two-factor/verify-backup-code`. Strict, because better-auth has a field
 * that would skip the second factor for a month.
 */
export const secondFactorCodeSchema = z.strictObject({ code: z.string().trim().min(1).max(64) });

/** Answer of the second step of a sign-in, and of the first code of an authenticator app. */
export const secondFactorPassedSchema = z.strictObject({ token: z.string(), user: authUserSchema });

/** Answer of `POST /auth/two-factor/generate-backup-codes`. Earlier codes become invalid. */
export const backupCodesSchema = z.strictObject({ status: z.literal(true), backupCodes: z.array(z.string()) });

/** Authenticator apps and backup codes. */
export const secondFactorContracts = contracts({
  'POST /v1/auth/two-factor/enable': {
    operationId: 'enableSecondFactor',
    summary: 'Enrol an authenticator app',
    description:
      'Takes effect with the first code to `POST /v1/auth/two-factor/verify-totp`. Only this answer has the backup codes.',
    limits: ['guess', 'password'],
    credentials: ['session'],
    body: passwordOnlySchema,
    answer: totpEnrolmentSchema,
    returns: 'The address to show as a QR code, and the backup codes.',
    examples: { body: { password: 'correct horse battery' } },
    errors: [...ofAuth, 'unauthenticated', 'email_not_verified'],
  },
  'POST /v1/auth/two-factor/verify-totp': {
    operationId: 'verifyTotp',
    summary: 'Verify a code of the authenticator app',
    description:
      'Completes a sign-in, with the cookie of its first step, or confirms a new app. A code is valid once. Five wrong codes end the sign-in, and ten in a row lock the second factor for 15 minutes.',
    limits: ['guess', 'code'],
    credentials: [],
    body: secondFactorCodeSchema,
    answer: secondFactorPassedSchema,
    returns: 'You are signed in.',
    examples: { body: { code: '123456' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/two-factor/verify-backup-code': {
    operationId: 'verifyBackupCode',
    summary: 'Verify a backup code',
    limits: ['guess', 'code'],
    credentials: [],
    body: secondFactorCodeSchema,
    answer: secondFactorPassedSchema,
    returns: 'You are signed in. The code is used up.',
    examples: { body: { code: 'abcde-fghij' } },
    errors: [...ofAuth, 'unauthenticated', 'conflict'],
  },
  'POST /v1/auth/two-factor/generate-backup-codes': {
    operationId: 'generateBackupCodes',
    summary: 'Create new backup codes',
    limits: ['guess', 'password'],
    credentials: ['session'],
    body: passwordOnlySchema,
    answer: backupCodesSchema,
    returns: 'The new codes. Earlier codes are invalid.',
    examples: { body: { password: 'correct horse battery' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'POST /v1/auth/two-factor/disable': {
    operationId: 'disableSecondFactor',
    summary: 'Disable the second factor',
    limits: ['guess', 'password'],
    credentials: ['session'],
    body: passwordOnlySchema,
    ...done,
    examples: { body: { password: 'correct horse battery' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
});
