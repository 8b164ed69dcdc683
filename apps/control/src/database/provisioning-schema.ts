import { sql } from 'drizzle-orm';
import { boolean, index, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { createdAt, instant } from './columns.ts';
import { accounts } from './schema.ts';

const updatedAt = () => instant('updated_at').notNull().default(sql`now()`);

/** People whom the identity provider manages by SCIM. `accountId` is set once the provider has signed one in. */
export const scimUsers = pgTable(
  'scim_users',
  {
    id: uuid('id').primaryKey(),
    userName: text('user_name').notNull(),
    externalId: text('external_id'),
    /** The address of `userName` and of `emails`, in lower case. */
    addresses: text('addresses').array().notNull(),
    /** The attributes as the provider sent them, without those that have columns. */
    attributes: jsonb('attributes').notNull(),
    active: boolean('active').notNull().default(true),
    accountId: uuid('account_id').references(() => accounts.id),
    /** A change of a group may have changed the roles of this person, and they are not given yet. */
    rolesDue: boolean('roles_due').notNull().default(false),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    uniqueIndex('scim_users_name_key').on(sql`lower(${table.userName})`),
    uniqueIndex('scim_users_account_key').on(table.accountId),
    index('scim_users_external_idx').on(table.externalId),
    index('scim_users_addresses_idx').using('gin', table.addresses),
    index('scim_users_created_idx').on(table.createdAt, table.id),
    index('scim_users_due_idx').on(table.id).where(sql`${table.rolesDue}`),
  ],
);

/** Groups that the identity provider manages by SCIM. The setting `OIDC_ROLES` names them by `displayName`. */
export const scimGroups = pgTable(
  'scim_groups',
  {
    id: uuid('id').primaryKey(),
    displayName: text('display_name').notNull(),
    externalId: text('external_id'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    uniqueIndex('scim_groups_name_key').on(sql`lower(${table.displayName})`),
    index('scim_groups_external_idx').on(table.externalId),
    index('scim_groups_created_idx').on(table.createdAt, table.id),
  ],
);

export const scimGroupMembers = pgTable(
  'scim_group_members',
  {
    groupId: uuid('group_id')
      .notNull()
      .references(() => scimGroups.id, { onDelete: 'cascade' }),
    userId: uuid('user_id')
      .notNull()
      .references(() => scimUsers.id, { onDelete: 'cascade' }),
  },
  (table) => [
    primaryKey({ columns: [table.groupId, table.userId] }),
    index('scim_group_members_user_idx').on(table.userId),
  ],
);

/** Logout tokens of the OpenID provider, for an hour. They refuse sign-ins that began before them, and tokens that come again. */
export const openidLogouts = pgTable(
  'openid_logouts',
  {
    /** SHA-256 of `jti`, base64url. */
    id: text('id').primaryKey(),
    subject: text('subject'),
    sid: text('sid'),
    /** `iat`. */
    at: instant('at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('openid_logouts_subject_idx').on(table.subject), index('openid_logouts_sid_idx').on(table.sid)],
);
