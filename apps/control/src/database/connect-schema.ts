import type { AppScope } from '@sotto/contract/control/app-scopes';
import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, instant } from './columns.ts';
import { accountId, apiKeys } from './schema.ts';

const appId = () =>
  uuid('app_id')
    .notNull()
    .references(() => connectApps.id);

/**
 * Apps that developers have registered: OAuth clients. The secret is stored as its SHA-256. A public app does not have
 * one.
 */
export const connectApps = pgTable(
  'connect_apps',
  {
    id: uuid('id').primaryKey(),
    accountId: accountId(),
    name: text('name').notNull(),
    homepage: text('homepage').notNull(),
    type: text('type', { enum: ['confidential', 'public'] }).notNull(),
    redirectUris: jsonb('redirect_uris').$type<string[]>().notNull(),
    postLogoutRedirectUris: jsonb('post_logout_redirect_uris').$type<string[]>().notNull(),
    scopes: jsonb('scopes').$type<AppScope[]>().notNull(),
    secretHash: text('secret_hash'),
    secretCreatedAt: instant('secret_created_at'),
    createdAt: createdAt(),
    /** A disabled app is never enabled again. The row remains, because grants refer to it. */
    disabledAt: instant('disabled_at'),
  },
  (table) => [index('connect_apps_account_idx').on(table.accountId)],
);

/**
 * A user’s permission for an app. Each grant has a key whose secret was discarded. The key holds the limit, the
 * spending, the workspace and the end of the grant: a grant is active until its key is revoked.
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
    scopes: jsonb('scopes').$type<AppScope[]>().notNull(),
    createdAt: createdAt(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('connect_grants_account_idx').on(table.accountId), index('connect_grants_app_idx').on(table.appId)],
);

/** The name by which an app knows an account: random, and different for each app. */
export const connectSubjects = pgTable(
  'connect_subjects',
  { appId: appId(), accountId: accountId(), subject: text('subject').notNull().unique() },
  (table) => [primaryKey({ columns: [table.appId, table.accountId] })],
);

/**
 * Temporary data of the protocol: requests, codes, tokens, browser sessions. `id` is the SHA-256 of a secret that only
 * the client or browser holds. `payload` is sealed under a key derived from that secret.
 */
export const connectArtifacts = pgTable(
  'connect_artifacts',
  {
    id: text('id').primaryKey(),
    kind: text('kind').notNull(),
    grantId: uuid('grant_id'),
    /** On a request: the account that opened it first. Only this account may answer it. */
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

/**
 * Keys that all control processes share: for ID tokens, and for the protocol’s cookies. Sealed under SESSION_SECRET.
 */
export const connectKeys = pgTable('connect_keys', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: ['signing', 'cookie'] }).notNull(),
  sealed: text('sealed').notNull(),
  createdAt: createdAt(),
});
