import { omittable } from '@sotto/wire';
import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { givenId, idFilter, instant, keyTag, limitUsd, usd } from '../fields.ts';
import { listPageFields, pageOf } from '../lists.ts';

/** The fields of a key that an admin can lock by setting them on another's key. */
export const lockableFields = [
  'credit_limit_usd',
  'openai_compatible',
  'expires_at',
  'allowed_models',
  'requests_per_minute',
  'tokens_per_minute',
  'tag',
  'disabled',
] as const;
export type LockableField = (typeof lockableFields)[number];

/** A key as its owner sees it, with the rules that hold: the stricter of its own and the workspace's policy. Only the answer that created or rotated it has `key`. */
export const keyAnswerSchema = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(['inference', 'management']),
  workspace_id: z.uuid(),
  created_by: z.uuid(),
  preview: z.string(),
  credit_limit_usd: usd
    .nullable()
    .describe('Null: neither the key nor the policy of its workspace limits what it can spend.'),
  spent_usd: usd,
  openai_compatible: z.boolean(),
  /** The models that its requests may name, as ids or patterns. Null: all. The policy of its workspace may allow fewer. */
  allowed_models: z.array(z.string()).nullable(),
  /** Its own rate limits, below those of the deployment. Null: those of the deployment. */
  requests_per_minute: z.int().nullable(),
  tokens_per_minute: z.int().nullable(),
  /** What its usage can be grouped by, such as a cost centre. */
  tag: z.string().nullable(),
  created_at: instant,
  last_used_at: instant.nullable(),
  expires_at: instant.nullable(),
  disabled_at: instant.nullable(),
  revoked_at: instant.nullable(),
  locked: z
    .array(z.enum(lockableFields))
    .describe('The fields that an admin set. Only admins of the workspace can change them.'),
  /** Earlier secrets that still work, after the key was rotated. */
  old_secrets: z.array(z.strictObject({ preview: z.string(), ends_at: instant })),
  key: z.string().optional().describe('The secret. Only in the answer that created it.'),
});
export type KeyAnswer = z.infer<typeof keyAnswerSchema>;

/** Answer of `POST /keys` and of a rotation, the only ones that have the secret. */
export const newKeyAnswerSchema = keyAnswerSchema.extend({
  key: z.string().describe('The secret. Only this answer has it.'),
});

export const keyListAnswerSchema = pageOf(keyAnswerSchema);

const keyName = z.string().trim().min(1).max(100);

/** The largest number that the column holds. The deployment's own limit is lower. */
const perMinute = z.int().min(1).max(2_147_483_647);

/** A model id, or a pattern of ids. */
export const modelPattern = z.string().min(1).max(256);

/** When a key expires, which model ids its requests may name, and its own rate limits. */
const keyRules = {
  expires_at: z.iso.datetime().max(64).nullish(),
  allowed_models: z
    .array(modelPattern)
    .min(1)
    .max(100)
    .nullish()
    .describe('Ids of models, or patterns such as `acme/*`, in which `*` stands for any characters.'),
  requests_per_minute: perMinute.nullish(),
  tokens_per_minute: perMinute.nullish(),
};

export const createKeySchema = z.strictObject({
  name: keyName,
  kind: z.enum(['inference', 'management']),
  workspace_id: omittable(givenId),
  credit_limit_usd: limitUsd.nullish().describe('The most that the key can spend in total, in USD.'),
  openai_compatible: omittable(z.boolean()).describe(
    'Whether the key may be sent to the confidential origin. Default true.',
  ),
  ...keyRules,
  tag: keyTag.nullish().describe('What its usage can be grouped by and a budget can limit, such as a cost centre.'),
});
export type CreateKey = z.infer<typeof createKeySchema>;

/** Body of `PATCH /keys/:id`. Absent fields keep their values; `null` removes a limit, the expiry, the allowed models or the tag. */
export const updateKeySchema = z.strictObject({
  name: omittable(keyName),
  credit_limit_usd: limitUsd.nullable().optional().describe('Null removes the limit.'),
  openai_compatible: omittable(z.boolean()),
  ...keyRules,
  tag: keyTag
    .nullish()
    .describe(
      'Also groups what the key has used so far. The budget of a tag counts requests from the change on. Null removes it.',
    ),
  /** A disabled key is refused until it is enabled. */
  disabled: omittable(z.boolean()),
});
export type UpdateKey = z.infer<typeof updateKeySchema>;

/** Body of `POST /keys/:id/rotate-secret`: how long the secrets so far still work. */
export const rotateKeySchema = z.strictObject({ overlap_hours: z.number().min(0).max(168).default(24) });

/** Query of `GET /keys`. Without a workspace, lists all keys that the account pays for. */
export const keyListQuerySchema = z.strictObject({
  workspace_id: idFilter.describe(
    'Lists the keys of this workspace. The default is all keys that the account pays for.',
  ),
  ...listPageFields,
});

const id = { note: 'The id of a key of this account.', id: 'key' } as const;

/** Keys, by session. Only the answer that creates or rotates a key has its secret. */
export const keyContracts = contractsWith({ credentials: ['session'] })({
  'GET /v1/keys': {
    operationId: 'listKeys',
    summary: 'List keys',
    query: keyListQuerySchema,
    answer: keyListAnswerSchema,
    returns: 'A page of keys, oldest first, without their secrets.',
    errors: ['not_found'],
  },
  'POST /v1/keys': {
    operationId: 'createKey',
    summary: 'Create a key',
    body: createKeySchema,
    status: 201,
    answer: newKeyAnswerSchema,
    returns: 'The key. Only this answer has its secret, `key`.',
    examples: { body: { name: 'laptop', kind: 'inference', credit_limit_usd: 5 } },
    errors: ['not_found', 'conflict'],
    maximum: 'keys',
  },
  'PATCH /v1/keys/{id}': {
    operationId: 'updateKey',
    summary: 'Change a key',
    description:
      'Absent fields keep their values. `null` removes a limit, the expiry, the allowed models or the tag of the key, but not what the policy ' +
      'of its workspace sets. A key that is `disabled` is refused, and so are its unused tickets, until it is enabled again. What an admin ' +
      "restricts on another's key, or a tag that an admin sets, is `locked`: only admins can change it. Of the key of a connected app, only the tag " +
      'can be changed, by a body with `tag` alone.',
    credentials: ['session'],
    params: { id },
    body: updateKeySchema,
    answer: keyAnswerSchema,
    returns: 'The updated key.',
    examples: { body: { name: 'old laptop', openai_compatible: false } },
  },
  'POST /v1/keys/{id}/rotate-secret': {
    operationId: 'rotateKeySecret',
    summary: 'Rotate the secret of a key',
    description:
      'The key gets another secret and keeps its limits, budgets and usage. Its secrets so far work for `overlap_hours` more, or ' +
      'until an earlier rotation ends them. Its unused tickets stop working.',
    params: { id },
    body: rotateKeySchema,
    answer: newKeyAnswerSchema,
    returns: 'The key with its new secret, `key`, which is shown only here.',
    examples: { body: { overlap_hours: 24 } },
    errors: ['conflict'],
  },
  'DELETE /v1/keys/{id}': {
    operationId: 'revokeKey',
    summary: 'Revoke a key',
    params: { id },
    status: 204,
    returns: 'The key is revoked. This cannot be undone.',
  },
});
