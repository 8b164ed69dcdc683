import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core';
import { authUser } from './auth-schema.ts';
import { createdAt, instant } from './columns.ts';

/** Facts about this deployment, in one row. */
export const deployment = pgTable('deployment', {
  isOnly: boolean('is_only').primaryKey().default(true),
  /** The UTC month of `usage` before which rows were deleted. Null: no row was. It never falls. */
  usageKeptFrom: instant('usage_kept_from'),
});

/** Whether each plane was ready in a minute since 1970. Kept for 25 hours. */
export const planeMinutes = pgTable('plane_minutes', {
  minute: integer('minute').primaryKey(),
  control: boolean('control').notNull(),
  broker: boolean('broker').notNull(),
});

/** Addresses that an operator has invited to sign up. A row is deleted when it is used or withdrawn. */
export const signUpInvitations = pgTable('sign_up_invitations', {
  id: uuid('id').primaryKey(),
  /** In lower case, as in `auth_user.email`. */
  email: text('email').notNull().unique(),
  createdAt: createdAt(),
  expiresAt: instant('expires_at').notNull(),
});

/** Users who administer this deployment. Only the command line grants and revokes the role. */
export const operators = pgTable('operators', {
  userId: text('user_id')
    .primaryKey()
    .references(() => authUser.id, { onDelete: 'cascade' }),
  grantedAt: instant('granted_at').notNull().default(sql`now()`),
});

/**
 * Acts of operators and of members of workspaces. Append-only: the database rejects updates and deletes. The rows hold
 * ids and amounts, and no addresses or names. They refer to other tables only by id, so that those rows can be deleted.
 */
export const acts = pgTable(
  'acts',
  {
    id: uuid('id').primaryKey(),
    at: instant('at').notNull().default(sql`date_trunc('milliseconds', now())`),
    actor: text('actor', { enum: ['account', 'operator', 'command_line', 'identity_provider', 'app'] }).notNull(),
    /** Only accounts and operators have one. */
    actorAccountId: uuid('actor_account_id'),
    act: text('act').notNull(),
    /** The account that the act concerns. */
    accountId: uuid('account_id'),
    workspaceId: uuid('workspace_id'),
    details: jsonb('details').notNull(),
  },
  (table) => [
    index('acts_at_idx').on(table.at, table.id),
    index('acts_account_idx').on(table.accountId, table.at, table.id),
    index('acts_workspace_idx').on(table.workspaceId, table.at, table.id),
    index('acts_actor_idx').on(table.actorAccountId, table.at, table.id),
    // Rare kinds, for operators.
    index('acts_act_idx').on(table.act, table.at, table.id),
  ],
);
