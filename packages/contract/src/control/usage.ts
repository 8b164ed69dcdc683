import * as wire from '@sotto/wire';
import { contracts } from '../contract.ts';
import { csv } from '../route.ts';

/** The notes of the parameters that both lists of usage take. */
const filterNotes = {
  from: { description: 'Inclusive: a date (its midnight UTC) or an instant.', example: '2026-11-01' },
  to: { description: 'Exclusive: a date (its midnight UTC) or an instant.', example: '2026-12-01' },
  model: 'Only this model.',
  key_id: 'Only this key.',
  workspace_id: 'Only this workspace.',
  format: '`csv` exports every matching row. Overrides the header `accept`.',
} as const;

/** Balance and usage. */
export const usageContracts = contracts({
  'GET /v1/balance': {
    operationId: 'getBalance',
    summary: 'Get the balance',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    answer: wire.balanceAnswerSchema,
    returns: 'USD that you can spend now, and USD held for running requests.',
    examples: { answer: { currency: 'USD', available: 9.87, reserved: 0.02 } },
  },
  'GET /v1/usage': {
    operationId: 'listUsage',
    summary: 'List usage by request',
    description:
      'Newest first. A session of a `member` reads the requests of keys that it created; an `admin` and the owner read all; a `viewer` reads only sums (`GET /v1/usage/daily`). A request has a row once a provider was tried. A row appears seconds, at most minutes, after its request, with the minute in which the request ended. The operator may delete rows by month: neither JSON nor CSV then has them, and `kept_from` says since when they are complete. `GET /v1/usage/daily` still counts them.',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    query: {
      schema: wire.usageQuerySchema,
      notes: {
        limit: 'Rows of a page.',
        cursor: '`next_cursor` of the previous page.',
        ...filterNotes,
        status: 'Only requests that ended in this way.',
        error: 'Only requests with this class of error.',
        provider: 'Only requests that this provider answered, or was the last to fail.',
        member_id: 'Only requests of keys that this account created.',
      },
    },
    answer: wire.usagePageSchema,
    returns: 'A page as JSON, or every matching row as CSV.',
    otherContent: [csv],
  },
  'GET /v1/usage/daily': {
    operationId: 'sumUsage',
    summary: 'Get sums of usage',
    description: 'Sums by UTC day, or by the columns in `group_by`. Counts whole days.',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    query: {
      schema: wire.usageDailyQuerySchema,
      notes: {
        group_by: {
          description:
            'A comma list of `day`, `month`, `workspace_id`, `key_id`, `operation`, `model`, `provider`, `privacy_class`.',
          default: 'day',
          example: 'day,model',
        },
        ...filterNotes,
      },
    },
    answer: wire.usageDailyAnswerSchema,
    returns: 'The sums of each group and the total.',
    otherContent: [csv],
  },
});
