import {
  attemptErrors,
  firstTokenBoundsMs,
  privacyClassSchema,
  providerStatuses,
  refusalKinds,
  usageErrors,
  usageStatuses,
} from '@sotto/wire';
import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { idFilter, instant, jsonOrCsv, keyTag, usd, yearMonth } from '../fields.ts';
import { listPageFields } from '../lists.ts';
import { csv } from '../route.ts';
import { refuseEmptyRange, timeRange } from '../time-range.ts';

/** Answer of `GET /balance`: USD that can be spent now, and USD held for running requests. */
export const balanceAnswerSchema = z.strictObject({ currency: z.literal('USD'), available: usd, reserved: usd });

const filters = {
  ...timeRange,
  model: z.string().min(1).max(256).optional().describe('Only this model.'),
  key_id: idFilter.describe('Only this key.'),
  workspace_id: idFilter.describe('Only this workspace.'),
  format: jsonOrCsv.describe('`csv` exports every matching row. Overrides the header `accept`.'),
};

/**
 * Query of `GET /usage`. `from` is inclusive, `to` exclusive. `limit` and `cursor` page JSON only, because CSV has every
 * matching row.
 */
export const usageQuerySchema = z
  .strictObject({
    ...listPageFields,
    limit: listPageFields.limit.describe('Rows of a page.'),
    ...filters,
    status: z.enum(usageStatuses).optional().describe('Only requests that ended in this way.'),
    error: z.enum(usageErrors).optional().describe('Only requests with this class of error.'),
    provider: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('Only requests that this provider answered, or was the last to fail.'),
    member_id: idFilter.describe('Only requests of keys that this account created.'),
  })
  .superRefine(refuseEmptyRange);
export type UsageQuery = z.infer<typeof usageQuerySchema>;

/** Answer of `GET /usage`. `at` is cut to the minute, so that rows cannot be matched with logs by time. */
export const usagePageSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      id: z.uuid(),
      at: instant.describe('The minute in which the request ended.'),
      workspace_id: z.uuid(),
      key_id: z.uuid(),
      operation: z.string(),
      model: z.string(),
      provider: z.string().nullable(),
      privacy_class: privacyClassSchema.nullable(),
      prompt_tokens: z.int(),
      cached_tokens: z.int(),
      completion_tokens: z.int(),
      reasoning_tokens: z.int(),
      cost: usd,
      attempts: z.int(),
      fallback: z.boolean(),
      status: z.enum(usageStatuses),
      estimated: z.boolean().describe('The provider did not report all of the usage, so Sotto counted tokens.'),
      /** Null if the request completed, or if only a later version knows its class. */
      error: z.enum(usageErrors).nullable(),
      provider_status: z
        .enum(providerStatuses)
        .nullable()
        .describe(
          'The HTTP status with which the last provider refused a request that failed. Null: none, or one that could reveal a refused content (400, 403, 413, 422 and further 4xx).',
        ),
      failed_attempts: z
        .array(z.strictObject({ provider: z.string(), error: z.enum(attemptErrors) }))
        .describe(
          'The attempts before the last, in order. A refusal of the request reads `provider`. Empty: there was none, or they are not known. In CSV: `acme:timeout acme/eu:provider`.',
        ),
    }),
  ),
  next_cursor: z.string().nullable(),
  kept_from: instant
    .nullable()
    .describe('Rows before this month were deleted. Their daily sums stay. Null: none were deleted.'),
});
export type UsagePage = z.infer<typeof usagePageSchema>;

export const usageGroups = [
  'hour',
  'day',
  'month',
  'workspace_id',
  'member_id',
  'key_id',
  'tag',
  'operation',
  'model',
  'provider',
  'privacy_class',
] as const;
export type UsageGroup = (typeof usageGroups)[number];

const group = z.enum(usageGroups);

const groups = z
  .string()
  .max(500)
  .transform((text, context): readonly UsageGroup[] => {
    const asked = text.split(',').map((name) => group.safeParse(name).data);
    if (!asked.includes(undefined)) return usageGroups.filter((name) => asked.includes(name));
    context.addIssue({
      code: 'custom',
      message: `must be a comma list of ${usageGroups.map((name) => `\`${name}\``).join(', ')}`,
    });
    return z.NEVER;
  });

/** Query of `GET /usage/daily`. Days, and the hours of `hour`, are whole and UTC: `from` is rounded down and `to` up. */
export const usageDailyQuerySchema = z
  .strictObject({
    group_by: groups.prefault('day').meta({
      description:
        'A comma list of `hour`, `day`, `month`, `workspace_id`, `member_id`, `key_id`, `tag`, `operation`, `model`, `provider`, `privacy_class`. `member_id` is the account that created the key, `tag` the present tag of the key. `hour` is for at most 3 days, by default the last 24 hours and the present one.',
      example: 'month,workspace_id,member_id,key_id,model',
    }),
    ...filters,
    member_id: idFilter.describe(
      'Only keys that this account created. Those of others need the role `admin`, as does the group.',
    ),
    tag: keyTag.optional().describe('Only keys that have this tag now.'),
  })
  .superRefine(refuseEmptyRange);
export type UsageDailyQuery = z.infer<typeof usageDailyQuerySchema>;

const usageSumsSchema = z.strictObject({
  requests: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  /** Requests whose tokens the broker counted itself, because the provider reported none. */
  estimated: z.int(),
  prompt_tokens: z.int(),
  cached_tokens: z.int(),
  completion_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost: usd,
});
export type UsageSums = z.infer<typeof usageSumsSchema>;

/**
 * Answer of `GET /usage/daily`: the sums of every group with requests, in the order of the group columns, and the total.
 * Columns that were not grouped by are absent. So are names, in an answer to an app.
 */
export const usageDailyAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      hour: instant.optional().describe('The beginning of a UTC hour.'),
      day: z.iso.date().optional(),
      month: yearMonth.optional(),
      workspace_id: z.uuid().optional(),
      workspace_name: z.string().nullable().optional().describe('Null: the workspace belongs to another account now.'),
      member_id: z.uuid().optional(),
      member_email: z.string().nullable().optional().describe('Null: the account has no person, or was deleted.'),
      key_id: z.uuid().optional(),
      key_name: z.string().nullable().optional(),
      tag: z.string().nullable().optional().describe('Null: the keys have no tag.'),
      operation: z.string().optional(),
      model: z.string().optional(),
      provider: z.string().nullable().optional(),
      privacy_class: privacyClassSchema.nullable().optional(),
      ...usageSumsSchema.shape,
    }),
  ),
  total: usageSumsSchema,
  /**
   * How many streamed answers of all these days took how long to their first token: up to each of the bounds, and beyond
   * the last. Null for a query of one model or key, or by hour, because these counts are kept for a workspace’s days only.
   */
  first_token: z
    .strictObject({ bounds_ms: z.array(z.int()), answers: z.array(z.int()).length(firstTokenBoundsMs.length + 1) })
    .nullable(),
});
export type UsageDailyAnswer = z.infer<typeof usageDailyAnswerSchema>;

/** Query of `GET /usage/refusals`. Whole UTC hours: `from` is rounded down and `to` up. */
export const refusalsQuerySchema = z
  .strictObject({
    from: filters.from.describe('Inclusive: a date (its midnight UTC) or an instant. Default: 24 hours before `to`.'),
    to: filters.to.describe('Exclusive: a date (its midnight UTC) or an instant. Default: now.'),
    workspace_id: filters.workspace_id,
    key_id: filters.key_id,
    member_id: idFilter.describe('Only requests of keys that this account created.'),
  })
  .superRefine(refuseEmptyRange);
export type RefusalsQuery = z.infer<typeof refusalsQuerySchema>;

/** Answer of `GET /usage/refusals`: how often requests were refused before a provider was tried, newest hour first. */
export const refusalsAnswerSchema = z.strictObject({
  data: z.array(
    z.strictObject({
      hour: instant.describe('The beginning of a UTC hour.'),
      key_id: z.uuid(),
      status: z.union([z.literal(402), z.literal(403), z.literal(429)]),
      kind: z
        .enum(refusalKinds)
        .describe(
          'What refused the requests. 402: the balance, the limit of the key or a monthly budget. 429: the requests or tokens of a minute. 403: the key may not use the model (`model`) or the way to ask (`access`), or no provider keeps the privacy floor (`privacy`).',
        ),
      count: z.int(),
    }),
  ),
  next_to: instant
    .nullable()
    .describe(
      'Set if earlier hours are left out, because the answer has thousands of counts. Ask for them with this `to`.',
    ),
});
export type RefusalsAnswer = z.infer<typeof refusalsAnswerSchema>;

export const usageContracts = contractsWith({
  credentials: ['managementKey', 'session', 'accessToken'],
  readsCaller: true,
})({
  'GET /v1/balance': {
    operationId: 'getBalance',
    summary: 'Get the balance',
    answer: balanceAnswerSchema,
    returns: 'USD that you can spend now, and USD held for running requests.',
    examples: { answer: { currency: 'USD', available: 9.87, reserved: 0.02 } },
  },
  'GET /v1/usage': {
    operationId: 'listUsage',
    summary: 'List usage by request',
    description:
      'Newest first. A session of a `member` reads the requests of keys that it created; an `admin` and the owner read all; a `viewer` reads only sums (`GET /v1/usage/daily`). A request has a row once a provider was tried. A row appears seconds, at most minutes, after its request, with the minute in which the request ended. The operator may delete rows by month: neither JSON nor CSV then has them, and `kept_from` says since when they are complete. `GET /v1/usage/daily` still counts them. Rows hold ids, in CSV too; `GET /v1/usage/daily` names workspaces, members and keys. An access token cannot filter by `member_id`.',
    credentials: ['managementKey', 'session', 'accessToken'],
    readsCaller: true,
    query: usageQuerySchema,
    answer: usagePageSchema,
    returns: 'A page as JSON, or every matching row as CSV.',
    otherContent: [csv],
  },
  'GET /v1/usage/refusals': {
    operationId: 'countRefusals',
    summary: 'Count refused requests',
    description:
      'How often requests were refused with 402, 403 or 429 before a provider was tried, by hour, key and kind, for at most 31 days. Counts follow within a minute, are kept for 90 days, and may lack some after a loss of Redis. Anonymous wallets are not counted. A session of a `member` reads those of keys that it created, a `viewer` none.',
    query: refusalsQuerySchema,
    answer: refusalsAnswerSchema,
    returns: 'The counts that are not 0, newest hour first.',
  },
  'GET /v1/usage/daily': {
    operationId: 'sumUsage',
    summary: 'Get sums of usage',
    description:
      'Sums by UTC day, or by the columns in `group_by`. Counts whole days, or whole hours if `hour` is among the columns. Hours are sums of the rows of `GET /v1/usage`, so they count only rows that the caller may read: a session of a `member` those of keys that it created, a `viewer` none. The operator may delete rows: hours before `kept_from` are refused, days stay. Workspaces, members and keys that are grouped by have their names beside their ids, also after they were deleted or revoked. An account that was deleted has none. Groups and filters by `member_id` are for a management key, the owner and admins; a member can filter by the own account.',
    query: usageDailyQuerySchema,
    answer: usageDailyAnswerSchema,
    returns: 'The sums of each group and the total.',
    otherContent: [csv],
  },
});
