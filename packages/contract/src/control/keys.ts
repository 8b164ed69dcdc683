import {
  createKeySchema,
  keyAnswerSchema,
  keyListAnswerSchema,
  keyListQuerySchema,
  newKeyAnswerSchema,
  updateKeySchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Keys, by session. The secret of a key is in the answer that makes it. */
export const keyContracts = contracts({
  'GET /v1/keys': {
    operationId: 'listKeys',
    summary: 'Keys',
    credentials: ['session'],
    query: {
      schema: keyListQuerySchema,
      notes: { workspace_id: 'Of a workspace, whoever made them; without it, those that the account pays for.' },
    },
    status: 200,
    answer: keyListAnswerSchema,
    returns: 'The keys of the account, without their secrets.',
    errors: ['not_found'],
  },
  'POST /v1/keys': {
    operationId: 'createKey',
    summary: 'Make a key',
    credentials: ['session'],
    body: createKeySchema,
    status: 201,
    answer: newKeyAnswerSchema,
    returns: 'The key. Its secret, `key`, is shown here and never again.',
    examples: { body: { name: 'laptop', kind: 'inference', credit_limit_usd: 5 } },
    errors: ['not_found'],
  },
  'PATCH /v1/keys/{id}': {
    operationId: 'updateKey',
    summary: 'Change a key',
    description: 'What is absent stays.',
    credentials: ['session'],
    params: { id: { note: 'The id of a key of this account.', id: 'key' } },
    body: updateKeySchema,
    status: 200,
    answer: keyAnswerSchema,
    returns: 'The key, as it is now.',
    examples: { body: { name: 'old laptop', openai_compatible: false } },
  },
  'DELETE /v1/keys/{id}': {
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    credentials: ['session'],
    params: { id: { note: 'The id of a key of this account.', id: 'key' } },
    status: 204,
    returns: 'It is revoked, for good.',
  },
});
