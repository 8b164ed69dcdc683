import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { instant, nusd } from './columns.ts';

/**
 * How often requests of a key were refused before a provider was tried, by hour and kind. `count` only rises: the shared state counts,
 * and a rebuilt shard counts anew in another epoch. No time below the hour, no model and nothing of the request.
 */
export const refusals = pgTable(
  'refusals',
  {
    accountId: uuid('account_id').notNull(),
    workspaceId: uuid('workspace_id').notNull(),
    hour: instant('hour').notNull(),
    keyId: uuid('key_id').notNull(),
    /** Of `refusalKinds`. */
    kind: text('kind').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({
      columns: [table.accountId, table.workspaceId, table.hour, table.keyId, table.kind, table.epoch],
    }),
    index('refusals_hour_idx').on(table.hour),
  ],
);

/**
 * The usage of each request. A quiet one has nothing but its owner, its minute and its charge: all else is null. Its ids appear nowhere else and times are cut to the minute, so that rows cannot be joined with a broker’s records.
 *
 * Drizzle cannot express it: the table is partitioned by the UTC month of `at`. `usage/usage-months.ts` creates the
 * partitions. It has no primary key, because random ids need no check.
 */
export const usage = pgTable(
  'usage',
  {
    id: uuid('id').notNull(),
    at: instant('at').notNull(),
    accountId: uuid('account_id').notNull(),
    workspaceId: uuid('workspace_id').notNull(),
    keyId: uuid('key_id').notNull(),
    operation: text('operation'),
    model: text('model'),
    provider: text('provider'),
    privacyClass: text('privacy_class'),
    promptTokens: bigint('prompt_tokens', { mode: 'number' }),
    cachedTokens: bigint('cached_tokens', { mode: 'number' }),
    completionTokens: bigint('completion_tokens', { mode: 'number' }),
    reasoningTokens: bigint('reasoning_tokens', { mode: 'number' }),
    costNusd: nusd('cost_nusd').notNull(),
    attempts: integer('attempts'),
    fallback: boolean('fallback'),
    status: text('status'),
    estimated: boolean('estimated'),
    /** Null if the request completed, or if only a later version knows its class. */
    error: text('error'),
    /** The attempts before the last, such as `acme:timeout acme/eu:rate_limit`. Null: none, or not known. */
    failedAttempts: text('failed_attempts'),
    /** The class of the status with which the last provider refused, of `providerStatuses`. Null: none. */
    providerStatus: text('provider_status'),
  },
  (table) => [
    // One index for each combination of filters, so that rare rows are found without reading the account’s whole usage.
    // They are scanned backwards. With `desc`, nulls would be on the other side than `order by at desc` expects.
    index('usage_account_idx').on(table.accountId, table.at, table.id),
    index('usage_model_idx').on(table.accountId, table.model, table.at, table.id),
    index('usage_key_idx').on(table.accountId, table.keyId, table.at, table.id),
    index('usage_key_model_idx').on(table.accountId, table.keyId, table.model, table.at, table.id),
    index('usage_workspace_idx').on(table.accountId, table.workspaceId, table.at, table.id),
    index('usage_workspace_model_idx').on(table.accountId, table.workspaceId, table.model, table.at, table.id),
    index('usage_provider_idx').on(table.accountId, table.provider, table.at, table.id),
    // Most requests complete, so these are small.
    index('usage_failed_idx').on(table.accountId, table.at, table.id).where(sql`${table.status} <> 'completed'`),
    index('usage_error_idx')
      .on(table.accountId, table.error, table.at, table.id)
      .where(sql`${table.status} <> 'completed'`),
  ],
);

const ofDay = () => ({
  accountId: uuid('account_id').notNull(),
  /** UTC. */
  day: date('day').notNull(),
});
const byWorkspace = () => ({ workspaceId: uuid('workspace_id').notNull() });
const byKey = () => ({ keyId: uuid('key_id').notNull() });
const byRoute = () => ({
  operation: text('operation'),
  model: text('model'),
  provider: text('provider'),
  privacyClass: text('privacy_class'),
});
const routeOf = <Column>(table: Readonly<Record<'operation' | 'model' | 'provider' | 'privacyClass', Column>>) => [
  ...[table.operation, table.model, table.provider, table.privacyClass],
];
const count = <Name extends string>(name: Name) => bigint(name, { mode: 'bigint' }).notNull();
const sums = () => ({
  requests: count('requests'),
  failed: count('failed'),
  cancelled: count('cancelled'),
  estimated: count('estimated'),
  promptTokens: count('prompt_tokens'),
  cachedTokens: count('cached_tokens'),
  completionTokens: count('completion_tokens'),
  reasoningTokens: count('reasoning_tokens'),
  costNusd: count('cost_nusd'),
});

/** `usage` summed by day and all dimensions. Every booking updates it (`ledger/record-usage.ts`). */
export const usageDaily = pgTable(
  'usage_daily',
  { ...ofDay(), ...byWorkspace(), ...byKey(), ...byRoute(), ...sums() },
  (table) => [
    unique('usage_daily_row')
      .on(table.accountId, table.day, table.workspaceId, table.keyId, ...routeOf(table))
      .nullsNotDistinct(),
    index('usage_daily_key_idx').on(table.accountId, table.keyId, table.day),
    index('usage_daily_workspace_idx').on(table.accountId, table.workspaceId, table.day),
    index('usage_daily_model_idx').on(table.accountId, table.model, table.day),
  ],
);

/** The same without keys, which is about one row for twenty. It answers most queries about a year. */
export const usageDailyRoutes = pgTable(
  'usage_daily_routes',
  { ...ofDay(), ...byWorkspace(), ...byRoute(), ...sums() },
  (table) => [
    unique('usage_daily_routes_row')
      .on(table.accountId, table.day, table.workspaceId, ...routeOf(table))
      .nullsNotDistinct(),
  ],
);

/** The same with keys as the only dimension besides the workspace. */
export const usageDailyKeys = pgTable(
  'usage_daily_keys',
  { ...ofDay(), ...byWorkspace(), ...byKey(), ...sums() },
  (table) => [
    unique('usage_daily_keys_row').on(table.accountId, table.day, table.workspaceId, table.keyId),
    index('usage_daily_keys_key_day_idx').on(table.accountId, table.keyId, table.day),
    // What all accounts used in a month, for operators.
    index('usage_daily_keys_day_idx').on(table.day),
  ],
);

/**
 * How many streamed chat answers of a workspace's day took how long to their first token, by the class that their
 * settlements carry. No row of `usage` has the class.
 */
export const usageDailyFirstToken = pgTable(
  'usage_daily_first_token',
  { ...ofDay(), ...byWorkspace(), class: smallint('class').notNull(), answers: count('answers') },
  (table) => [primaryKey({ columns: [table.accountId, table.day, table.workspaceId, table.class] })],
);
