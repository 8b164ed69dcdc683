import { sql } from 'drizzle-orm';
import { bigint, check, customType, index, integer, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { createdAt, instant } from './columns.ts';
import { accountId } from './schema.ts';

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
const credits = <Name extends string>(name: Name) => bigint(name, { mode: 'number' }).notNull().default(0);

/** The issuer keys that were used, by their ids of RFC 9578 in hex. The check stops deposits of a key that was stolen. */
export const creditKeys = pgTable(
  'credit_keys',
  {
    keyId: text('key_id').primaryKey(),
    /** The number of credits that were signed, and that were deposited. */
    issued: credits('issued'),
    spent: credits('spent'),
    /** When a deposit would have spent more than was issued. No deposit is accepted from then on. */
    stoppedAt: instant('stopped_at'),
  },
  (table) => [check('credit_keys_spent', sql`${table.spent} between 0 and ${table.issued}`)],
);

/** The standing permission to withdraw so many more batches from an account. Only the hash of its code is stored. */
export const creditCodes = pgTable(
  'credit_codes',
  {
    accountId: accountId().primaryKey(),
    codeHash: text('code_hash').notNull().unique(),
    expiresAt: instant('expires_at').notNull(),
    /** The batches that are left. */
    lots: integer('lots').notNull().default(0),
  },
  (table) => [check('credit_codes_lots', sql`${table.lots} >= 0`)],
);

/**
 * Batches that were signed. The id is a hash of the blinded numbers and of the secret that paid for them, so that only their owner gets
 * the signatures again. `count` of the numbers are signed.
 */
export const creditIssuances = pgTable(
  'credit_issuances',
  {
    id: text('id').primaryKey(),
    accountId: accountId(),
    keyId: text('key_id').notNull(),
    count: integer('count').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('credit_issuances_account_idx').on(table.accountId, table.createdAt),
    index('credit_issuances_time_idx').on(table.createdAt),
    check('credit_issuances_count', sql`${table.count} between 0 and 50`),
  ],
);

/** Deposited credits. The primary key is what makes a credit count once. Nothing here names the wallet. */
export const spentCredits = pgTable(
  'spent_credits',
  { keyId: text('key_id').notNull(), nonce: bytes('nonce').notNull() },
  (table) => [primaryKey({ columns: [table.keyId, table.nonce] })],
);

/** Accounts without a user that credits or an order have paid for. */
export const wallets = pgTable('wallets', {
  accountId: accountId().primaryKey(),
  keyId: uuid('key_id').notNull(),
  keyHash: text('key_hash').notNull().unique(),
  /** SHA-256 of the secret that closes it. */
  closeHash: text('close_hash').notNull().unique(),
  /** SHA-256 of the credits that paid for it, so that the same deposit gets the same answer again. Null: an order did. */
  depositDigest: text('deposit_digest'),
  /** The issuance that emptied it. */
  closedBy: text('closed_by'),
});
