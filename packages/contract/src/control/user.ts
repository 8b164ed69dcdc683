import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { ofAuth } from '../errors.ts';
import { email } from '../fields.ts';
import { done, ownPassword, personName } from './sessions.ts';

export const deleteAccountSchema = z.strictObject({
  /** The account's address, as a confirmation. */
  email: email,
  password: ownPassword,
});

export const updateUserSchema = z.strictObject({ name: personName });

export const userContracts = contractsWith({ credentials: ['session'], ...done })({
  'POST /v1/auth/delete-account': {
    operationId: 'deleteAccount',
    summary: 'Delete your account',
    description:
      'Ends every session, revokes all keys and deletes your workspaces, sign-in ways and address at once. Requests that are under way end and are charged. Then the rest of the balance is forfeited. The ledger and usage stay, without a user, and receipts with the details that they have. A workspace with other members, an open order or the operator role is a conflict.',
    limits: ['guess', 'password'],
    body: deleteAccountSchema,
    examples: { body: { email: 'ann@example.com', password: 'correct horse battery' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated', 'conflict', 'session_not_fresh'],
  },
  'POST /v1/auth/update-user': {
    operationId: 'updateUser',
    summary: 'Change your name',
    body: updateUserSchema,
    examples: { body: { name: 'Ann Other' }, answer: { status: true } },
    errors: [...ofAuth, 'unauthenticated'],
  },
});
