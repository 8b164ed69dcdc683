import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { authUser } from './auth-schema.ts';

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
const createdAt = () => instant('created_at').notNull().default(sql`now()`);
const nusd = (name: string) => bigint(name, { mode: 'bigint' });
const id = () => uuid('id').primaryKey();

/**
 * Who pays. `balanceNusd` is derived from the ledger and kept beside it in the same transactions; `version` rises with
 * every change, so that the state takes only newer balances.
 */
export const accounts = pgTable(
  'accounts',
  {
    id: id(),
    userId: text('user_id')
      .unique()
      .references(() => authUser.id, { onDelete: 'set null' }),
    name: text('name').notNull(),
    walletId: text('wallet_id').notNull().unique(),
    balanceNusd: nusd('balance_nusd').notNull().default(sql`0`),
    version: bigint('version', { mode: 'number' }).notNull().default(1),
    /** The version that the shared state was given; where it is behind, the projector catches up. */
    projectedVersion: bigint('projected_version', { mode: 'number' }).notNull().default(0),
    /** Charges of requests that their client gave up, waived in the hour below: hours since 1970, UTC. */
    waivedNusd: nusd('waived_nusd').notNull().default(sql`0`),
    waivedHour: integer('waived_hour').notNull().default(0),
    createdAt: createdAt(),
  },
  (table) => [index('accounts_unprojected_idx').on(table.id).where(sql`${table.projectedVersion} < ${table.version}`)],
);

export const workspaces = pgTable(
  'workspaces',
  {
    id: id(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    name: text('name').notNull(),
    isDefault: boolean('is_default').notNull().default(false),
    /** `preferencesSchema` of packages/router. */
    preferences: jsonb('preferences').notNull(),
    createdAt: createdAt(),
    /** Its keys were revoked with it; the row stays for what they did. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    index('workspaces_account_idx').on(table.accountId),
    uniqueIndex('workspaces_default_idx').on(table.accountId).where(sql`${table.isDefault}`),
  ],
);

/** Keys by their hash. `generation` rises with every change that a broker must see; `fundsVersion` with every spend. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: id(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    workspaceId: uuid('workspace_id')
      .notNull()
      .references(() => workspaces.id),
    /** Who made it; it stops when they leave the workspace. `account_id` is who pays. */
    createdBy: uuid('created_by')
      .notNull()
      .references(() => accounts.id),
    kind: text('kind', { enum: ['inference', 'management'] }).notNull(),
    name: text('name').notNull(),
    hash: text('hash').notNull().unique(),
    /** The prefix and the last characters, for people to tell keys apart. */
    preview: text('preview').notNull(),
    creditLimitNusd: nusd('credit_limit_nusd'),
    spentNusd: nusd('spent_nusd').notNull().default(sql`0`),
    fundsVersion: bigint('funds_version', { mode: 'number' }).notNull().default(1),
    generation: integer('generation').notNull().default(1),
    /** The generation that the shared state was given; where it is behind, the projector catches up. */
    projectedGeneration: integer('projected_generation').notNull().default(0),
    openaiCompatible: boolean('openai_compatible').notNull().default(true),
    limitRequests: integer('limit_requests'),
    limitTokens: integer('limit_tokens'),
    createdAt: createdAt(),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    index('api_keys_account_idx').on(table.accountId),
    index('api_keys_workspace_idx').on(table.workspaceId),
    index('api_keys_unprojected_idx').on(table.id).where(sql`${table.projectedGeneration} < ${table.generation}`),
  ],
);

/** One movement of money. Append-only, as are its entries: the database refuses updates and deletes. */
export const ledgerTransactions = pgTable('ledger_transactions', {
  id: id(),
  kind: text('kind', { enum: ['top_up', 'charge', 'refund', 'adjustment', 'fee'] }).notNull(),
  /** What it was for; unique, so that nothing is booked twice. */
  reference: text('reference').notNull().unique(),
  createdAt: createdAt(),
});

/** Double entry: the amounts of one transaction sum to zero. `wallet:<account id>` holds what an account may spend. */
export const ledgerEntries = pgTable(
  'ledger_entries',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    transactionId: uuid('transaction_id')
      .notNull()
      .references(() => ledgerTransactions.id),
    ledgerAccount: text('ledger_account').notNull(),
    amountNusd: nusd('amount_nusd').notNull(),
  },
  (table) => [
    index('ledger_entries_account_idx').on(table.ledgerAccount),
    index('ledger_entries_transaction_idx').on(table.transactionId),
  ],
);

/** Which settlements are booked: the one place where "exactly once" is decided. */
export const settlements = pgTable('settlements', {
  id: text('id').primaryKey(),
  chargeNusd: nusd('charge_nusd').notNull(),
  bookedAt: instant('booked_at').notNull().default(sql`now()`),
});

/** Settlements that could not be believed or booked. The audit is not clean while one of them is unresolved. */
export const rejectedSettlements = pgTable('rejected_settlements', {
  id: uuid('id').primaryKey(),
  shard: integer('shard').notNull(),
  streamId: text('stream_id').notNull(),
  reason: text('reason', { enum: ['bad_mac', 'unbookable'] }).notNull(),
  payload: text('payload').notNull(),
  createdAt: createdAt(),
  resolvedAt: instant('resolved_at'),
  /** `booked`, or why the operator dismissed it. */
  resolution: text('resolution'),
});

/** What each request used. Ids join with nothing, and the time is cut to the minute (design 1). */
export const usage = pgTable(
  'usage',
  {
    id: id(),
    at: instant('at').notNull(),
    accountId: uuid('account_id').notNull(),
    workspaceId: uuid('workspace_id').notNull(),
    keyId: uuid('key_id').notNull(),
    operation: text('operation').notNull(),
    model: text('model').notNull(),
    provider: text('provider'),
    privacyClass: text('privacy_class'),
    promptTokens: bigint('prompt_tokens', { mode: 'number' }).notNull(),
    cachedTokens: bigint('cached_tokens', { mode: 'number' }).notNull(),
    completionTokens: bigint('completion_tokens', { mode: 'number' }).notNull(),
    reasoningTokens: bigint('reasoning_tokens', { mode: 'number' }).notNull(),
    costNusd: nusd('cost_nusd').notNull(),
    attempts: integer('attempts').notNull(),
    fallback: boolean('fallback').notNull(),
    status: text('status').notNull(),
    estimated: boolean('estimated').notNull(),
  },
  (table) => [
    // One for each combination of filters, so that a rare one is found without reading the account's whole usage. Read
    // backwards; `desc` here would put nulls where `order by at desc` does not look for them.
    index('usage_account_idx').on(table.accountId, table.at, table.id),
    index('usage_model_idx').on(table.accountId, table.model, table.at, table.id),
    index('usage_key_idx').on(table.accountId, table.keyId, table.at, table.id),
    index('usage_key_model_idx').on(table.accountId, table.keyId, table.model, table.at, table.id),
    index('usage_workspace_idx').on(table.accountId, table.workspaceId, table.at, table.id),
    index('usage_workspace_model_idx').on(table.accountId, table.workspaceId, table.model, table.at, table.id),
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
  operation: text('operation').notNull(),
  model: text('model').notNull(),
  provider: text('provider'),
  privacyClass: text('privacy_class'),
});
const count = (name: string) => bigint(name, { mode: 'bigint' }).notNull();
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

/** `usage` summed up by day and all that it can be told apart by. Written with every booking (`usage/record-usage.ts`). */
export const usageDaily = pgTable(
  'usage_daily',
  { ...ofDay(), ...byWorkspace(), ...byKey(), ...byRoute(), ...sums() },
  (table) => [
    unique('usage_daily_row')
      .on(
        table.accountId,
        table.day,
        table.workspaceId,
        table.keyId,
        table.operation,
        table.model,
        table.provider,
        table.privacyClass,
      )
      .nullsNotDistinct(),
    index('usage_daily_key_idx').on(table.accountId, table.keyId, table.day),
    index('usage_daily_workspace_idx').on(table.accountId, table.workspaceId, table.day),
    index('usage_daily_model_idx').on(table.accountId, table.model, table.day),
  ],
);

/** The same without keys, where there is one row for twenty: most questions about a year are answered from here. */
export const usageDailyRoutes = pgTable(
  'usage_daily_routes',
  { ...ofDay(), ...byWorkspace(), ...byRoute(), ...sums() },
  (table) => [
    unique('usage_daily_routes_row')
      .on(
        table.accountId,
        table.day,
        table.workspaceId,
        table.operation,
        table.model,
        table.provider,
        table.privacyClass,
      )
      .nullsNotDistinct(),
  ],
);

/** The same by key alone. */
export const usageDailyKeys = pgTable(
  'usage_daily_keys',
  { ...ofDay(), ...byWorkspace(), ...byKey(), ...sums() },
  (table) => [
    unique('usage_daily_keys_row').on(table.accountId, table.day, table.workspaceId, table.keyId),
    index('usage_daily_keys_key_idx').on(table.accountId, table.keyId),
  ],
);

/** The newest epoch of each shard of the shared state that was ever to be opened: none that is older is believed. */
export const shardEpochs = pgTable('shard_epochs', {
  shard: integer('shard').primaryKey(),
  epoch: bigint('epoch', { mode: 'number' }).notNull(),
});

/** Who was in the shards, and when last: should a shard lose everything, they are waited for. Names are random. */
export const shardClients = pgTable(
  'shard_clients',
  {
    shard: integer('shard').notNull(),
    client: text('client').notNull(),
    seenAt: instant('seen_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.shard, table.client] })],
);
