import {
  balanceAnswerSchema,
  usageDailyAnswerSchema,
  usageDailyQuerySchema,
  usagePageSchema,
  usageQuerySchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';

/** Balance and usage. */
export const usageContracts = contracts({
  'GET /v1/balance': {
    operationId: 'getBalance',
    summary: 'Balance',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    status: 200,
    answer: balanceAnswerSchema,
    returns: 'USD that may be spent now, and USD set aside for requests that run.',
    examples: { answer: { currency: 'USD', available: 9.87, reserved: 0.02 } },
  },
  'GET /v1/usage': {
    operationId: 'listUsage',
    summary: 'Usage, request by request',
    description:
      'Newest first. Rows are booked seconds, at worst minutes, after their requests, under the minute in which these ended.',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    query: {
      schema: usageQuerySchema,
      notes: {
        limit: 'Rows of a page.',
        cursor: '`next_cursor` of the page before.',
        from: { description: 'Inclusive: a date (its midnight UTC) or an instant.', example: '2026-11-01' },
        to: { description: 'Exclusive: a date (its midnight UTC) or an instant.', example: '2026-12-01' },
        model: 'Only this model.',
        key_id: 'Only this key.',
        workspace_id: 'Only this workspace.',
        format: '`csv` exports everything that matches. Wins over the header `accept`.',
      },
    },
    status: 200,
    answer: usagePageSchema,
    returns: 'A page as JSON, or all that matches as CSV.',
    otherContent: [
      { mediaType: 'text/csv', schema: { type: 'string', description: 'RFC 4180, UTF-8, with a header row.' } },
    ],
  },
  'GET /v1/usage/daily': {
    operationId: 'sumUsage',
    summary: 'Usage, summed',
    description: 'Sums by day (UTC), or by whatever `group_by` names. Days count whole.',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    query: {
      schema: usageDailyQuerySchema,
      notes: {
        group_by: {
          description:
            'A comma list of `day`, `month`, `workspace_id`, `key_id`, `operation`, `model`, `provider`, `privacy_class`.',
          default: 'day',
          example: 'day,model',
        },
        from: { description: 'Inclusive: a date (its midnight UTC) or an instant.', example: '2026-11-01' },
        to: { description: 'Exclusive: a date (its midnight UTC) or an instant.', example: '2026-12-01' },
        model: 'Only this model.',
        key_id: 'Only this key.',
        workspace_id: 'Only this workspace.',
        format: '`csv` exports everything that matches. Wins over the header `accept`.',
      },
    },
    status: 200,
    answer: usageDailyAnswerSchema,
    returns: 'The sums of each group, and of all.',
    otherContent: [
      { mediaType: 'text/csv', schema: { type: 'string', description: 'RFC 4180, UTF-8, with a header row.' } },
    ],
  },
});
