import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { authUser } from './auth-schema.ts';
import { createdAt, instant, lockedFields, nusd, policyColumns } from './columns.ts';

const id = () => uuid('id').primaryKey();
export const accountId = () =>
  uuid('account_id')
    .notNull()
    .references(() => accounts.id);
export const workspaceId = () =>
  uuid('workspace_id')
    .notNull()
    .references(() => workspaces.id);

/**
 * Accounts that pay. `balanceNusd` is derived from the ledger and updated in the same transactions. `version` rises
 * with every change, so that the state accepts only newer balances.
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
    /** The version that was written to the shared state. If it is behind, the projector catches up. */
    projectedVersion: bigint('projected_version', { mode: 'number' }).notNull().default(0),
    /** Waived charges of requests that the client abandoned, in the hour `waived_hour`: hours since 1970, UTC. */
    waivedNusd: nusd('waived_nusd').notNull().default(sql`0`),
    waivedHour: integer('waived_hour').notNull().default(0),
    /** The monthly grant that an operator set for this account. Null: that of the deployment. */
    monthlyGrantNusd: nusd('monthly_grant_nusd'),
    /** The newest month with a grant, `YYYY-MM`. Null: the account never had one, so bookings need not look for grants. */
    grantedMonth: text('granted_month'),
    /** The groups of the last ID token that the setting `OIDC_ROLES` names, and when the provider issued that token. */
    openidGroups: text('openid_groups').array(),
    openidGroupsAt: instant('openid_groups_at'),
    /** When an operator disabled the account. Its keys and sessions then do not work; its money stays. */
    disabledAt: instant('disabled_at'),
    /** Whether the identity provider disabled it, by SCIM. It can then enable it again, and what an operator disabled it cannot. */
    disabledByProvider: boolean('disabled_by_provider').notNull().default(false),
    /** When its owner deleted it. It is then disabled for ever, and no user belongs to it. */
    deletedAt: instant('deleted_at'),
    /** When nothing of a deleted account was on its way any more, and its rest was booked. */
    closedAt: instant('closed_at'),
    createdAt: createdAt(),
  },
  (table) => [
    index('accounts_closing_idx').on(table.id).where(sql`${table.deletedAt} is not null and ${table.closedAt} is null`),
    index('accounts_unprojected_idx').on(table.id).where(sql`${table.projectedVersion} < ${table.version}`),
  ],
);

export const workspaces = pgTable(
  'workspaces',
  {
    id: id(),
    accountId: accountId(),
    name: text('name').notNull(),
    isDefault: boolean('is_default').notNull().default(false),
    /** `preferencesSchema` of packages/wire. */
    preferences: jsonb('preferences').notNull(),
    /** The percents of a budget at which alerts are sent, ascending. */
    alertPercents: integer('alert_percents').array().notNull().default(sql`'{50,80,100}'`),
    /** The monthly budget of each member without one of their own. Null: none. */
    memberBudgetNusd: nusd('member_budget_nusd'),
    /** Of the preferences. It rises with every change that brokers must see. */
    version: bigint('version', { mode: 'number' }).notNull().default(1),
    projectedVersion: bigint('projected_version', { mode: 'number' }).notNull().default(0),
    /** The oldest version whose tickets are still valid: since then, the preferences have only become looser. */
    ticketsSince: bigint('tickets_since', { mode: 'number' }).notNull().default(1),
    ...policyColumns(),
    createdAt: createdAt(),
    /** Deletion also revoked the workspace’s keys. The row remains, because their usage refers to it. */
    deletedAt: instant('deleted_at'),
  },
  (table) => [
    index('workspaces_account_idx').on(table.accountId),
    uniqueIndex('workspaces_default_idx').on(table.accountId).where(sql`${table.isDefault}`),
    index('workspaces_member_budget_idx')
      .on(table.id)
      .where(sql`${table.memberBudgetNusd} is not null and ${table.deletedAt} is null`),
    index('workspaces_unprojected_idx').on(table.id).where(sql`${table.projectedVersion} < ${table.version}`),
  ],
);

/**
 * Keys. `hash` is of the first secret, and names the key in the shared state for good. `generation` rises with every change that
 * brokers must see, `fundsVersion` with every charge.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: id(),
    accountId: accountId(),
    workspaceId: workspaceId(),
    /** The account that created the key. The key stops when this account leaves the workspace. `account_id` pays. */
    createdBy: uuid('created_by')
      .notNull()
      .references(() => accounts.id),
    kind: text('kind', { enum: ['inference', 'management'] }).notNull(),
    name: text('name').notNull(),
    hash: text('hash').notNull().unique(),
    /** The prefix and the last characters, so that people can tell keys apart. */
    preview: text('preview').notNull(),
    creditLimitNusd: nusd('credit_limit_nusd'),
    spentNusd: nusd('spent_nusd').notNull().default(sql`0`),
    fundsVersion: bigint('funds_version', { mode: 'number' }).notNull().default(1),
    generation: integer('generation').notNull().default(1),
    /** The generation that was written to the shared state. If it is behind, the projector catches up. */
    projectedGeneration: integer('projected_generation').notNull().default(0),
    openaiCompatible: boolean('openai_compatible').notNull().default(true),
    limitRequests: integer('limit_requests'),
    limitTokens: integer('limit_tokens'),
    /** Model ids that requests may name. Null: all. */
    allowedModels: text('allowed_models').array(),
    /** What its costs are grouped by, such as a cost centre. */
    tag: text('tag'),
    /** When the key last lost a tag. What was refused until then may have been refused by the budget of that tag. */
    untaggedAt: instant('untagged_at'),
    createdAt: createdAt(),
    lastUsedAt: instant('last_used_at'),
    expiresAt: instant('expires_at'),
    /** When a user disabled the key, until it is enabled again. */
    disabledAt: instant('disabled_at'),
    revokedAt: instant('revoked_at'),
    lockedFields: lockedFields(),
  },
  (table) => [
    index('api_keys_account_idx').on(table.accountId),
    index('api_keys_creator_idx').on(table.createdBy),
    index('api_keys_workspace_idx').on(table.workspaceId),
    index('api_keys_unprojected_idx').on(table.id).where(sql`${table.projectedGeneration} < ${table.generation}`),
  ],
);

/** All secrets of a key that was rotated. A key without rows has only its first secret. */
export const keySecrets = pgTable(
  'key_secrets',
  {
    hash: text('hash').primaryKey(),
    keyId: uuid('key_id')
      .notNull()
      .references(() => apiKeys.id),
    preview: text('preview').notNull(),
    createdAt: createdAt(),
    /** When it stops working. Null: the newest secret. */
    endsAt: instant('ends_at'),
  },
  (table) => [index('key_secrets_key_idx').on(table.keyId)],
);

/**
 * Monthly limits: of a workspace, of a member's keys in it, of its keys with a tag, or of one key. A removed budget has no limit. Its row stays, so that its
 * version never falls.
 */
export const budgets = pgTable(
  'budgets',
  {
    id: id(),
    workspaceId: workspaceId(),
    memberId: uuid('member_id').references(() => accounts.id),
    keyId: uuid('key_id').references(() => apiKeys.id),
    /** `tagIdOf` names it, also after its word was deleted. */
    tagId: uuid('tag_id'),
    tag: text('tag'),
    limitNusd: nusd('limit_nusd'),
    /** Whether it follows the workspace’s budget for members. */
    isDefault: boolean('is_default').notNull().default(false),
    version: bigint('version', { mode: 'number' }).notNull().default(1),
    projectedVersion: bigint('projected_version', { mode: 'number' }).notNull().default(0),
    /** When `projectedVersion` last rose. What brokers counted until then may have been refused by an earlier limit. */
    projectedAt: instant('projected_at').notNull().defaultNow(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('budgets_scope').on(table.workspaceId, table.memberId, table.keyId, table.tagId).nullsNotDistinct(),
    check('budgets_one_scope', sql`num_nonnulls(${table.memberId}, ${table.keyId}, ${table.tagId}) <= 1`),
    index('budgets_unprojected_idx').on(table.id).where(sql`${table.projectedVersion} < ${table.version}`),
  ],
);

/** The charges of a key by the UTC month of their holds, `YYYY-MM`. A budget that is not of a tag has spent the sum of such charges. */
export const keyMonths = pgTable(
  'key_months',
  {
    keyId: uuid('key_id')
      .notNull()
      .references(() => apiKeys.id),
    month: text('month').notNull(),
    spentNusd: nusd('spent_nusd').notNull(),
  },
  (table) => [primaryKey({ columns: [table.keyId, table.month] })],
);

/**
 * The charges of an account's requests by the tag that their key had when they began, and by month, as `key_months` has them by key. A
 * later change of the tag moves nothing, so a sum never falls.
 */
export const tagMonths = pgTable(
  'tag_months',
  {
    accountId: accountId(),
    tagId: uuid('tag_id').notNull(),
    month: text('month').notNull(),
    spentNusd: nusd('spent_nusd').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.tagId, table.month] })],
);

/** A movement of money. Append-only, as are its entries: the database rejects updates and deletes. */
export const ledgerTransactions = pgTable('ledger_transactions', {
  id: id(),
  kind: text('kind', {
    enum: ['top_up', 'charge', 'refund', 'adjustment', 'fee', 'grant', 'grant_expired', 'credits'],
  }).notNull(),
  /** Its purpose. Unique, so that nothing is booked twice. */
  reference: text('reference').notNull().unique(),
  createdAt: createdAt(),
});

/**
 * Double entry: the amounts of a transaction sum to zero. `wallet:<account id>` holds the money that an account may
 * spend.
 */
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

/** The settlements that are booked. The primary key is what makes booking “exactly once”. */
export const settlements = pgTable('settlements', {
  id: text('id').primaryKey(),
  chargeNusd: nusd('charge_nusd').notNull(),
  bookedAt: instant('booked_at').notNull().default(sql`now()`),
});

/** Settlements with a wrong MAC, and settlements that could not be booked. The audit reports the unresolved ones. */
export const rejectedSettlements = pgTable('rejected_settlements', {
  id: uuid('id').primaryKey(),
  shard: integer('shard').notNull(),
  streamId: text('stream_id').notNull(),
  reason: text('reason', { enum: ['bad_mac', 'unbookable'] }).notNull(),
  payload: text('payload').notNull(),
  mac: text('mac').notNull().default(''),
  /** The hold that it names. The shared state has a note of its charge under this id. Null if it names none. */
  holdId: text('hold_id'),
  createdAt: createdAt(),
  resolvedAt: instant('resolved_at'),
  /** `booked`, or the reason why the operator dismissed it. */
  resolution: text('resolution'),
});

/** The newest epoch that each shard of the shared state was ever to be opened with. Older epochs are not trusted. */
export const shardEpochs = pgTable('shard_epochs', {
  shard: integer('shard').primaryKey(),
  epoch: bigint('epoch', { mode: 'number' }).notNull(),
});

/**
 * The clients of the shards, and when each was last seen. If a shard loses everything, its rebuild waits for them.
 * Their names are random.
 */
export const shardClients = pgTable(
  'shard_clients',
  { shard: integer('shard').notNull(), client: text('client').notNull(), seenAt: instant('seen_at').notNull() },
  (table) => [primaryKey({ columns: [table.shard, table.client] })],
);
