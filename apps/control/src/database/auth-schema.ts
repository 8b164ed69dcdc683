import { sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { bigint, boolean, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { createdAt, instant } from './columns.ts';

/** The database, as better-auth and its plugins use it. */
export type AuthDatabase = NodePgDatabase<Record<string, unknown>>;

const updatedAt = () => instant('updated_at').notNull().default(sql`now()`);

// Property names are better-auth’s field names, because it addresses columns by them. The SQL names are ours.

/** Users who can sign in. better-auth stores `email` in lower case. */
export const authUser = pgTable('auth_user', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  email: text('email').notNull().unique(),
  emailVerified: boolean('email_verified').notNull().default(false),
  image: text('image'),
  twoFactorEnabled: boolean('two_factor_enabled').notNull().default(false),
  /** When the password was set by mail while the account had passkeys. Null once the user has reviewed the passkeys. */
  passkeysKeptAt: instant('passkeys_kept_at'),
  createdAt: createdAt(),
  updatedAt: updatedAt(),
});

/** Active sessions. `token` holds a SHA-256, never the cookie’s value (`hashed-token-adapter.ts`). */
export const authSession = pgTable(
  'auth_session',
  {
    id: text('id').primaryKey(),
    token: text('token').notNull().unique(),
    userId: text('user_id')
      .notNull()
      .references(() => authUser.id, { onDelete: 'cascade' }),
    expiresAt: instant('expires_at').notNull(),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    /** When the user last showed a second factor in this session. */
    factorAt: instant('factor_at'),
    /** The session at the OpenID provider (`sid`), and when the provider issued the ID token. Null: another way to sign in. */
    openidSid: text('openid_sid'),
    openidAt: instant('openid_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('auth_session_user_id_idx').on(table.userId),
    index('auth_session_openid_sid_idx').on(table.openidSid).where(sql`${table.openidSid} is not null`),
  ],
);

/** The ways in which a user can sign in: `credential`, whose `password` is salt and scrypt hash, and `openid`. */
export const authAccount = pgTable(
  'auth_account',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    providerId: text('provider_id').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => authUser.id, { onDelete: 'cascade' }),
    accessToken: text('access_token'),
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    accessTokenExpiresAt: instant('access_token_expires_at'),
    refreshTokenExpiresAt: instant('refresh_token_expires_at'),
    scope: text('scope'),
    password: text('password'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('auth_account_user_id_idx').on(table.userId),
    uniqueIndex('auth_account_provider_account_key').on(table.providerId, table.accountId),
  ],
);

/** Single-use proofs that are still valid, such as password resets. `identifier` is stored hashed (`auth.ts`). */
export const authVerification = pgTable(
  'auth_verification',
  {
    id: text('id').primaryKey(),
    identifier: text('identifier').notNull(),
    value: text('value').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [index('auth_verification_identifier_idx').on(table.identifier)],
);

/** Second factors. The secret and backup codes are encrypted with SESSION_SECRET. A row counts only if `verified`. */
export const authTwoFactor = pgTable(
  'auth_two_factor',
  {
    id: text('id').primaryKey(),
    secret: text('secret').notNull(),
    backupCodes: text('backup_codes').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => authUser.id, { onDelete: 'cascade' }),
    verified: boolean('verified').notNull().default(false),
    failedVerificationCount: integer('failed_verification_count').notNull().default(0),
    lockedUntil: instant('locked_until'),
  },
  (table) => [uniqueIndex('auth_two_factor_user_key').on(table.userId)],
);

/** Passkeys: public keys, and the data that their authenticators reported. */
export const authPasskey = pgTable(
  'auth_passkey',
  {
    id: text('id').primaryKey(),
    name: text('name'),
    publicKey: text('public_key').notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => authUser.id, { onDelete: 'cascade' }),
    credentialID: text('credential_id').notNull().unique(),
    counter: bigint('counter', { mode: 'number' }).notNull(),
    deviceType: text('device_type').notNull(),
    backedUp: boolean('backed_up').notNull(),
    transports: text('transports'),
    createdAt: instant('created_at'),
    aaguid: text('aaguid'),
  },
  (table) => [index('auth_passkey_user_id_idx').on(table.userId)],
);
