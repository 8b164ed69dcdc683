import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, timestamp, unique, uuid } from 'drizzle-orm/pg-core';
import { accounts, workspaces } from './schema.ts';

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
const createdAt = () => instant('created_at').notNull().default(sql`now()`);
const workspaceId = () =>
  uuid('workspace_id')
    .notNull()
    .references(() => workspaces.id);

/** Who is in a workspace beside its owner. The owner is the account that pays, `workspaces.account_id`, and no row here. */
export const workspaceMembers = pgTable(
  'workspace_members',
  {
    workspaceId: workspaceId(),
    accountId: uuid('account_id')
      .notNull()
      .references(() => accounts.id),
    role: text('role', { enum: ['viewer', 'member', 'admin'] }).notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.accountId] }),
    index('workspace_members_account_idx').on(table.accountId),
  ],
);

/** Invitations that wait: one that was accepted, declined or withdrawn is no row. The token rests as its SHA-256. */
export const workspaceInvitations = pgTable(
  'workspace_invitations',
  {
    id: uuid('id').primaryKey(),
    workspaceId: workspaceId(),
    /** In lower case, as `auth_user.email`. */
    email: text('email').notNull(),
    /** `owner` hands the workspace over. */
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
