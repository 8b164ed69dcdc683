import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { pageNotes } from '../route.ts';

const id = { note: 'The id of a key of this account.', id: 'key' } as const;

/** Keys, by session. Only the answer that creates or rotates a key has its secret. */
export const keyContracts = contracts({
  'GET /v1/keys': {
    operationId: 'listKeys',
    summary: 'List keys',
    credentials: ['session'],
    query: {
      schema: wire.keyListQuerySchema,
      notes: {
        ...pageNotes,
        workspace_id: 'Lists the keys of this workspace. The default is all keys that the account pays for.',
      },
    },
    answer: wire.keyListAnswerSchema,
    returns: 'A page of keys, oldest first, without their secrets.',
    errors: ['not_found'],
  },
  'POST /v1/keys': {
    operationId: 'createKey',
    summary: 'Create a key',
    credentials: ['session'],
    body: wire.createKeySchema,
    status: 201,
    answer: wire.newKeyAnswerSchema,
    returns: 'The key. Only this answer has its secret, `key`.',
    examples: { body: { name: 'laptop', kind: 'inference', credit_limit_usd: 5 } },
    errors: ['not_found', 'conflict'],
    maximum: 'keys',
  },
  'PATCH /v1/keys/{id}': {
    operationId: 'updateKey',
    summary: 'Change a key',
    description:
      'Absent fields keep their values. `null` removes a limit, the expiry or the allowed models. A key that is `disabled` is refused, ' +
      'and so are its unused tickets, until it is enabled again.',
    credentials: ['session'],
    params: { id },
    body: wire.updateKeySchema,
    answer: wire.keyAnswerSchema,
    returns: 'The updated key.',
    examples: { body: { name: 'old laptop', openai_compatible: false } },
  },
  'POST /v1/keys/{id}/rotate-secret': {
    operationId: 'rotateKeySecret',
    summary: 'Rotate the secret of a key',
    description:
      'The key gets another secret and keeps its limits, budgets and usage. Its secrets so far work for `overlap_hours` more, or ' +
      'until an earlier rotation ends them. Its unused tickets stop working.',
    credentials: ['session'],
    params: { id },
    body: wire.rotateKeySchema,
    answer: wire.newKeyAnswerSchema,
    returns: 'The key with its new secret, `key`, which is shown only here.',
    examples: { body: { overlap_hours: 24 } },
    errors: ['conflict'],
  },
  'DELETE /v1/keys/{id}': {
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    credentials: ['session'],
    params: { id },
    status: 204,
    returns: 'The key is revoked. This cannot be undone.',
  },
});
