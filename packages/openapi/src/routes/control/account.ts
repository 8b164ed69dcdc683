import { keyListQuerySchema, usageDailyQuerySchema, usageQuerySchema } from '@sotto/wire';
import { anywhere, ofBodies, ofOwners, ofSessions } from '../errors.ts';
import { type Content, json, type RouteDescription } from '../route.ts';

const tag = 'Account';
const keyId = { id: 'The id of a key of this account.' };
const csv: Content = {
  mediaType: 'text/csv',
  schema: { type: 'string', description: 'RFC 4180, UTF-8, with a header row.' },
};
const filters = {
  from: { description: 'Inclusive: a date (its midnight UTC) or an instant.', example: '2026-11-01' },
  to: { description: 'Exclusive: a date (its midnight UTC) or an instant.', example: '2026-12-01' },
  model: 'Only this model.',
  key_id: 'Only this key.',
  workspace_id: 'Only this workspace.',
  format: '`csv` exports everything that matches. Wins over the header `accept`.',
};

export const accountRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/balance',
    operationId: 'getBalance',
    tag,
    summary: 'Balance',
    credentials: ['managementKey', 'session', 'accessToken'],
    answers: [
      {
        status: 200,
        description: 'USD that may be spent now, and USD set aside for requests that run.',
        content: [json('Balance', { currency: 'USD', available: 9.87, reserved: 0.02 })],
      },
    ],
    errors: [...anywhere, ...ofOwners],
  },
  {
    method: 'get',
    path: '/v1/usage',
    operationId: 'listUsage',
    tag,
    summary: 'Usage, request by request',
    description:
      'Newest first. Rows are booked seconds, at worst minutes, after their requests, under the minute in which these ended.',
    credentials: ['managementKey', 'session', 'accessToken'],
    query: {
      schema: usageQuerySchema,
      notes: { limit: 'Rows of a page.', cursor: '`next_cursor` of the page before.', ...filters },
    },
    answers: [
      {
        status: 200,
        description: 'A page as JSON, or all that matches as CSV.',
        content: [json('UsagePage'), csv],
      },
    ],
    errors: [...anywhere, ...ofOwners, 'invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/usage/daily',
    operationId: 'sumUsage',
    tag,
    summary: 'Usage, summed',
    description: 'Sums by day (UTC), or by whatever `group_by` names. Days count whole.',
    credentials: ['managementKey', 'session', 'accessToken'],
    query: {
      schema: usageDailyQuerySchema,
      notes: {
        group_by: {
          description:
            'A comma list of `day`, `month`, `workspace_id`, `key_id`, `operation`, `model`, `provider`, `privacy_class`.',
          default: 'day',
          example: 'day,model',
        },
        ...filters,
      },
    },
    answers: [{ status: 200, description: 'The sums of each group, and of all.', content: [json('UsageDaily'), csv] }],
    errors: [...anywhere, ...ofOwners, 'invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/keys',
    operationId: 'listKeys',
    tag,
    summary: 'Keys',
    credentials: ['session'],
    query: {
      schema: keyListQuerySchema,
      notes: { workspace_id: 'Of a workspace, whoever made them; without it, those that the account pays for.' },
    },
    answers: [
      { status: 200, description: 'The keys of the account, without their secrets.', content: [json('KeyList')] },
    ],
    errors: [...anywhere, ...ofSessions, 'invalid_request', 'not_found'],
  },
  {
    method: 'post',
    path: '/v1/keys',
    operationId: 'createKey',
    tag,
    summary: 'Make a key',
    credentials: ['session'],
    body: { content: [json('CreateKey', { name: 'laptop', kind: 'inference', credit_limit_usd: 5 })] },
    answers: [
      {
        status: 201,
        description: 'The key. Its secret, `key`, is shown here and never again.',
        content: [json('Key')],
      },
    ],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'not_found'],
  },
  {
    method: 'patch',
    path: '/v1/keys/{id}',
    operationId: 'updateKey',
    tag,
    summary: 'Change a key',
    description: 'What is absent stays.',
    credentials: ['session'],
    pathParameters: keyId,
    body: { content: [json('UpdateKey', { name: 'old laptop', openai_compatible: false })] },
    answers: [{ status: 200, description: 'The key, as it is now.', content: [json('Key')] }],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'not_found'],
  },
  {
    method: 'delete',
    path: '/v1/keys/{id}',
    operationId: 'revokeKey',
    tag,
    summary: 'Revoke a key',
    credentials: ['session'],
    pathParameters: keyId,
    answers: [{ status: 204, description: 'It is revoked, for good.' }],
    errors: [...anywhere, ...ofSessions, 'not_found'],
  },
];
