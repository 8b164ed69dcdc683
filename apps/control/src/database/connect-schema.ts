import { sql } from 'drizzle-orm';
import { index, jsonb, pgTable, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { accounts, apiKeys } from './schema.ts';

const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
const createdAt = () => instant('created_at').notNull().default(sql`now()`);
const accountId = () =>
  uuid('account_id')
    .notNull()
    .references(() => accounts.id);
const appId = () =>
  uuid('app_id')
    .notNull()
    .references(() => connectApps.id);

/** Apps that developers have registered: OAuth clients. The secret rests as its SHA-256; a public app has none. */
export const connectApps = pgTable(
  'connect_apps',
  {
    id: uuid('id').primaryKey(),
    accountId: accountId(),
    name: text('name').notNull(),
    homepage: text('homepage').notNull(),
    type: text('type', { enum: ['confidential', 'public'] }).notNull(),
    redirectUris: jsonb('redirect_uris').notNull(),
    postLogoutRedirectUris: jsonb('post_logout_redirect_uris').notNull(),
    scopes: jsonb('scopes').notNull(),
    secretHash: text('secret_hash'),
    secretCreatedAt: instant('secret_created_at'),
    createdAt: createdAt(),
    /** Never enabled again; the row stays for the grants that name it. */
    disabledAt: instant('disabled_at'),
  },
  (table) => [index('connect_apps_account_idx').on(table.accountId)],
);

/**
 * What a person has allowed an app. Its key is one whose secret nobody has: limit, spending, workspace and the end of
 * the grant are the key's (a grant is active as long as its key is not revoked).
 */
export const connectGrants = pgTable(
  'connect_grants',
  {
    id: uuid('id').primaryKey(),
    appId: appId(),
    accountId: accountId(),
    keyId: uuid('key_id')
      .notNull()
      .unique()
      .references(() => apiKeys.id),
    scopes: jsonb('scopes').notNull(),
    createdAt: createdAt(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('connect_grants_account_idx').on(table.accountId), index('connect_grants_app_idx').on(table.appId)],
);

/** The name under which an app knows an account: random, and another one for each app. */
export const connectSubjects = pgTable(
  'connect_subjects',
  { appId: appId(), accountId: accountId(), subject: text('subject').notNull().unique() },
  (table) => [primaryKey({ columns: [table.appId, table.accountId] })],
);

/**
 * What the protocol keeps while it lasts: requests, codes, tokens, browser sessions. `id` is the SHA-256 of what the
 * client or browser holds, and `payload` is sealed with a key that only that opens.
 */
export const connectArtifacts = pgTable(
  'connect_artifacts',
  {
    id: text('id').primaryKey(),
    kind: text('kind').notNull(),
    grantId: uuid('grant_id'),
    /** Of a request: who opened it first, and alone may answer it. */
    accountId: uuid('account_id'),
    payload: text('payload').notNull(),
    expiresAt: instant('expires_at').notNull(),
    /** When a code or refresh token was used, or a request answered. */
    consumedAt: instant('consumed_at'),
  },
  (table) => [
    index('connect_artifacts_grant_idx').on(table.grantId),
    index('connect_artifacts_expires_idx').on(table.expiresAt),
  ],
);

/** Keys that all control processes share: for ID tokens, and for the protocol's cookies. Sealed under SESSION_SECRET. */
export const connectKeys = pgTable('connect_keys', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['signing', 'cookie'] }).notNull(),
  sealed: text('sealed').notNull(),
  createdAt: createdAt(),
});
