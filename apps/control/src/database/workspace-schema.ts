import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { createdAt, instant } from './columns.ts';
import { accountId, accounts, budgets, workspaceId, workspaces } from './schema.ts';

/**
 * Members of a workspace besides its owner. The owner is the account that pays, `workspaces.account_id`, without a row
 * here.
 */
export const workspaceMembers = pgTable(
  'workspace_members',
  {
    workspaceId: workspaceId(),
    accountId: accountId(),
    role: text('role', { enum: ['viewer', 'member', 'admin'] }).notNull(),
    /** Whether a group of the identity provider gave the role. A group never changes a role that a person gave. */
    byGroup: boolean('by_group').notNull().default(false),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.accountId] }),
    index('workspace_members_account_idx').on(table.accountId),
  ],
);

/**
 * Pending invitations. An accepted, declined or withdrawn invitation is deleted. The token is stored as its SHA-256.
 */
export const workspaceInvitations = pgTable(
  'workspace_invitations',
  {
    id: uuid('id').primaryKey(),
    workspaceId: workspaceId(),
    /** In lower case, as in `auth_user.email`. */
    email: text('email').notNull(),
    /** `owner` transfers the workspace. */
    role: text('role', { enum: ['viewer', 'member', 'admin', 'owner'] }).notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    invitedBy: uuid('invited_by')
      .notNull()
      .references(() => accounts.id),
    createdAt: createdAt(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [unique('workspace_invitations_address').on(table.workspaceId, table.email)],
);

/**
 * The percents of its limit that a budget has passed in a month, at the cost of `accountId`, the payer. A row is deleted when a
 * higher limit is no longer passed. The percent 0 is the first refusal of a request that the budget did not cover.
 */
export const budgetAlerts = pgTable(
  'budget_alerts',
  {
    /** Receivers tell repeated deliveries by it. */
    id: uuid('id').notNull().unique(),
    budgetId: uuid('budget_id')
      .notNull()
      .references(() => budgets.id),
    accountId: uuid('account_id').notNull(),
    month: text('month').notNull(),
    percent: integer('percent').notNull(),
    createdAt: createdAt(),
  },
  (table) => [primaryKey({ columns: [table.budgetId, table.accountId, table.month, table.percent] })],
);

/**
 * Alerts to send: a mail to an account, or an event to the webhook. A row is deleted once it is delivered or given up. It refers
 * to accounts only by id: a foreign key would lock them, and bookings lock accounts in another order.
 */
export const alertDeliveries = pgTable(
  'alert_deliveries',
  {
    id: uuid('id').primaryKey(),
    alertId: uuid('alert_id')
      .notNull()
      .references(() => budgetAlerts.id, { onDelete: 'cascade' }),
    /** Null: the webhook of the workspace. */
    accountId: uuid('account_id'),
    attempts: integer('attempts').notNull().default(0),
    /** It is also the lease of the process that is sending it. */
    nextAttemptAt: instant('next_attempt_at').notNull().default(sql`now()`),
  },
  (table) => [
    unique('alert_deliveries_once').on(table.alertId, table.accountId).nullsNotDistinct(),
    index('alert_deliveries_next_idx').on(table.nextAttemptAt),
  ],
);

/** Where the alerts of a workspace are sent, and in which format. `sealed` is the URL and the signing secret, encrypted with SESSION_SECRET. */
export const workspaceWebhooks = pgTable('workspace_webhooks', {
  workspaceId: uuid('workspace_id')
    .primaryKey()
    .references(() => workspaces.id),
  sealed: text('sealed').notNull(),
  format: text('format', { enum: ['json', 'slack', 'teams'] })
    .notNull()
    .default('json'),
  createdAt: createdAt(),
});
