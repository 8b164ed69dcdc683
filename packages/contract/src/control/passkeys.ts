import { maxAuthBytes } from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { anywhere, ofAuth } from '../errors.ts';
import { instant } from '../fields.ts';
import { passwordOnlySchema } from './second-factor.ts';
import { done, passkeySignedInSchema, personName } from './sessions.ts';

/** Answer of `POST /auth/confirm-password`: valid once, for five minutes, in this session. */
export const passwordConfirmedSchema = z.strictObject({ confirmation: z.string() });

/** Options of `navigator.credentials.create` or `get`, in the JSON form of WebAuthn Level 3. */
export const webauthnOptionsSchema = z.looseObject({ challenge: z.string() });

/** A passkey: its public key, and what its authenticator reported. */
export const passkeySchema = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  userId: z.string(),
  credentialID: z.string(),
  publicKey: z.string(),
  counter: z.int(),
  deviceType: z.string(),
  backedUp: z.boolean(),
  transports: z.string().nullable(),
  createdAt: instant.nullable(),
  aaguid: z.string().nullable(),
});

export const passkeyListSchema = z.array(passkeySchema);

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

export const renamePasskeySchema = z.strictObject({ id: passkeyId, name: personName });

export const passkeyIdSchema = z.object({ id: passkeyId });

export const passkeyUpdatedSchema = z.strictObject({ passkey: passkeySchema });

export const passkeyReviewSchema = z.strictObject({
  /** When a password was reset by mail while the account had passkeys. Null once the user has reviewed them. */
  resetAt: instant.nullable(),
});

/** Passkeys: adding them, signing in with them, and their list. */
export const passkeyContracts = contracts({
  'POST /v1/auth/confirm-password': {
    operationId: 'confirmPassword',
    summary: 'Confirm the password',
    description: 'Required before you add a passkey, so that a stolen session cookie cannot add one.',
    limits: ['guess', 'password'],
    credentials: ['session'],
    body: passwordOnlySchema,
    answer: passwordConfirmedSchema,
    returns: 'A confirmation that is valid once, for five minutes, in this session.',
    examples: { body: { password: 'correct horse battery' }, answer: { confirmation: 'a random text' } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'GET /v1/auth/passkey/generate-register-options': {
    operationId: 'beginPasskeyRegistration',
    summary: 'Start adding a passkey',
    description:
      'Call `POST /v1/auth/confirm-password` first. If the account has no password, sign in again at most five minutes before. The next step needs the cookie that this sets.',
    limits: ['guess'],
    credentials: ['session'],
    answer: webauthnOptionsSchema,
    returns: 'Options for `navigator.credentials.create`. Read them with `parseCreationOptionsFromJSON`.',
    errors: [...ofAuth, 'unauthenticated', 'email_not_verified', 'session_not_fresh'],
  },
  'POST /v1/auth/passkey/verify-registration': {
    operationId: 'registerPasskey',
    summary: 'Add a passkey',
    description: 'Send the `confirmation` of `POST /v1/auth/confirm-password`, which is used up.',
    limits: ['guess'],
    credentials: ['session'],
    body: registerPasskeySchema,
    answer: passkeySchema,
    returns: 'The passkey.',
    examples: {
      body: {
        name: 'Laptop',
        response: { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: {} },
        confirmation: 'as it was answered',
      },
    },
    errors: [...ofAuth, 'unauthenticated', 'email_not_verified', 'session_not_fresh', 'conflict'],
    maximum: 'passkeys',
  },
  'GET /v1/auth/passkey/generate-authenticate-options': {
    operationId: 'beginPasskeySignIn',
    summary: 'Start signing in with a passkey',
    limits: ['guess'],
    credentials: [],
    answer: webauthnOptionsSchema,
    returns: 'Options for `navigator.credentials.get`. Read them with `parseRequestOptionsFromJSON`.',
    errors: [...ofAuth],
  },
  'POST /v1/auth/passkey/verify-authentication': {
    operationId: 'signInWithPasskey',
    summary: 'Sign in with a passkey',
    description: 'The authenticator must verify the user by fingerprint or PIN. No second factor is needed.',
    limits: ['guess'],
    credentials: [],
    body: passkeySignInSchema,
    answer: passkeySignedInSchema,
    returns: 'You are signed in.',
    examples: { body: { response: { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: {} } } },
    errors: [...ofAuth, 'unauthenticated'],
  },
  'GET /v1/auth/passkey/list-user-passkeys': {
    operationId: 'listPasskeys',
    summary: 'List your passkeys',
    credentials: ['session'],
    answer: passkeyListSchema,
    returns: 'The passkeys.',
    errors: [...anywhere, 'unauthenticated'],
  },
  'POST /v1/auth/passkey/update-passkey': {
    operationId: 'renamePasskey',
    summary: 'Rename a passkey',
    credentials: ['session'],
    body: renamePasskeySchema,
    answer: passkeyUpdatedSchema,
    returns: 'The renamed passkey.',
    examples: { body: { id: 'as the list has it', name: 'Phone' } },
    errors: [...ofAuth, 'unauthenticated', 'not_found'],
  },
  'POST /v1/auth/passkey/delete-passkey': {
    operationId: 'deletePasskey',
    summary: 'Remove a passkey',
    credentials: ['session'],
    body: passkeyIdSchema,
    ...done,
    examples: { body: { id: 'as the list has it' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated', 'not_found'],
  },
  'GET /v1/auth/passkey/review': {
    operationId: 'getPasskeyReview',
    summary: 'Check whether to review passkeys',
    description:
      'A password reset by mail ends all sessions and keeps the passkeys, so that their owner should review them.',
    credentials: ['session'],
    answer: passkeyReviewSchema,
    returns: 'When the password was reset, or null.',
    errors: [...anywhere, 'unauthenticated'],
  },
  'POST /v1/auth/passkey/reviewed': {
    operationId: 'endPasskeyReview',
    summary: 'Mark passkeys as reviewed',
    credentials: ['session'],
    body: 'optional',
    ...done,
    examples: { answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
});
