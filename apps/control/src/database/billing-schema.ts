import type { PayTo } from '@sotto/contract/control/wallets';
import { type OrderFlag, orderStatuses } from '@sotto/money';
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
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { nusd } from './columns.ts';
import { accountId } from './schema.ts';

// Billing times come from control’s clock, in whole milliseconds, so that cursors are exact.
const instant = <Name extends string>(name: Name) =>
  timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });
const rail = () => text('rail', { enum: ['card', 'crypto', 'test'] }).notNull();

/** Purchase orders. Only `applyOrderEvent` of packages/money changes their status, under a lock on the row. */
export const orders = pgTable(
  'orders',
  {
    id: uuid('id').primaryKey(),
    /** Of an order for a wallet, the account that its payment creates. So it refers to no row before. */
    accountId: uuid('account_id').notNull(),
    status: text('status', { enum: orderStatuses }).notNull(),
    rail: rail(),
    packageId: text('package_id').notNull(),
    amountNusd: nusd('amount_nusd').notNull(),
    feeNusd: nusd('fee_nusd').notNull(),
    refundedNusd: nusd('refunded_nusd').notNull().default(sql`0`),
    disputedNusd: nusd('disputed_nusd').notNull().default(sql`0`),
    /** Created by auto top-up, and charged to the saved card. */
    automatic: boolean('automatic').notNull(),
    saveCard: boolean('save_card').notNull(),
    /** The rail’s id of the payment that it opened: a checkout session, an invoice, a payment intent. */
    railReference: text('rail_reference'),
    /** The card that auto top-up charges. It is stored before the charge, so that a retry is the same charge. */
    card: text('card'),
    /** An id from the form or program that placed the order. A request with the same id returns this order. */
    formId: text('form_id'),
    checkoutUrl: text('checkout_url'),
    /** The hashes of an anonymous wallet that the order pays for, and where to pay, because no page is opened for it. */
    walletKeyHash: text('wallet_key_hash'),
    walletCloseHash: text('wallet_close_hash'),
    payTo: jsonb('pay_to').$type<readonly PayTo[]>(),
    /** The rail’s id of the payment that was credited. */
    payment: text('payment'),
    /** Why it failed, and why a person has to review it. Each is a code with a public sentence. */
    failure: text('failure'),
    flag: text('flag').$type<OrderFlag>(),
    explanation: text('explanation'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    paidAt: instant('paid_at'),
    /** When to ask the rail about it next. Null: never. It is also the lease of the process that is asking now. */
    nextCheckAt: instant('next_check_at'),
  },
  (table) => [
    // Both are scanned backwards. With `desc`, nulls would be on the other side than `order by created_at desc` expects.
    index('orders_account_idx').on(table.accountId, table.createdAt, table.id),
    // What operators list: all but unpaid orders for wallets, which anybody can place.
    index('orders_time_idx')
      .on(table.createdAt, table.id)
      .where(sql`${table.walletKeyHash} is null or ${table.payment} is not null or ${table.flag} is not null`),
    index('orders_next_check_idx').on(table.nextCheckAt).where(sql`${table.nextCheckAt} is not null`),
    uniqueIndex('orders_reference_idx').on(table.rail, table.railReference),
    index('orders_payment_idx').on(table.rail, table.payment),
    uniqueIndex('orders_one_automatic_idx')
      .on(table.accountId)
      .where(sql`${table.automatic} and ${table.status} in ('created', 'pending')`),
    uniqueIndex('orders_form_idx').on(table.accountId, table.formId).where(sql`${table.formId} is not null`),
    uniqueIndex('orders_wallet_key_idx').on(table.walletKeyHash).where(sql`${table.walletKeyHash} is not null`),
    uniqueIndex('orders_wallet_close_idx').on(table.walletCloseHash).where(sql`${table.walletCloseHash} is not null`),
    check('orders_amounts', sql`${table.amountNusd} > 0 and ${table.feeNusd} >= 0`),
    check('orders_returns', sql`${table.refundedNusd} >= 0 and ${table.disputedNusd} >= 0`),
  ],
);

/** The history of an order: each change with its time and source. Append-only. */
export const orderEvents = pgTable(
  'order_events',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    orderId: uuid('order_id')
      .notNull()
      .references(() => orders.id),
    at: instant('at').notNull(),
    source: text('source').notNull(),
    /** Its type, and after a space the dispute that it is of. */
    event: text('event').notNull(),
    fromStatus: text('from_status').notNull(),
    toStatus: text('to_status').notNull(),
    flag: text('flag'),
  },
  (table) => [index('order_events_order_idx').on(table.orderId)],
);

/** SQL: the dispute that an event of an order names after its type. Empty if it is of none. */
export const namedDispute = "split_part(event, ' ', 2)";

/** SQL: the order `o` has a dispute that is not over, whatever was flagged later. */
export const isDisputed = `exists (
  select from (select ${namedDispute} as dispute from order_events where order_id = o.id and flag = 'disputed') opened
  where not exists (select from order_events where order_id = o.id and event ~ '^dispute_(won|lost)'
    and opened.dispute = ${namedDispute}))`;

/** The last receipt number of each year. A writer locks the row, so that numbers have no gaps. */
export const receiptCounters = pgTable('receipt_counters', {
  year: integer('year').primaryKey(),
  last: integer('last').notNull(),
});

/** Receipts and credit notes as they were issued. Append-only: a refund gets its own credit note. */
export const receipts = pgTable(
  'receipts',
  {
    number: text('number').primaryKey(),
    kind: text('kind', { enum: ['receipt', 'credit_note'] }).notNull(),
    orderId: uuid('order_id')
      .notNull()
      .references(() => orders.id),
    accountId: accountId(),
    issuedAt: instant('issued_at').notNull(),
    rail: rail(),
    amountNusd: nusd('amount_nusd').notNull(),
    feeNusd: nusd('fee_nusd').notNull(),
    /** On a credit note, the number of its receipt. */
    corrects: text('corrects'),
    accountName: text('account_name').notNull(),
    accountEmail: text('account_email'),
    accountDetails: text('account_details'),
    seller: jsonb('seller').notNull(),
  },
  (table) => [
    index('receipts_account_idx').on(table.accountId, table.issuedAt.desc(), table.number.desc()),
    uniqueIndex('receipts_one_an_order_idx').on(table.orderId).where(sql`${table.kind} = 'receipt'`),
  ],
);

/** An account’s settings for receipts, low-balance notices and auto top-up, and the outcome of the last auto top-up. */
export const billingSettings = pgTable('billing_settings', {
  accountId: accountId().primaryKey(),
  receiptDetails: text('receipt_details'),
  lowBalanceNusd: nusd('low_balance_nusd'),
  /** When the balance fell below the threshold. Set once per crossing. */
  lowSince: instant('low_since'),
  autoEnabled: boolean('auto_enabled').notNull().default(false),
  autoThresholdNusd: nusd('auto_threshold_nusd'),
  autoPackageId: text('auto_package_id'),
  autoMonthlyLimitNusd: nusd('auto_monthly_limit_nusd'),
  /** Why auto top-up is paused. The pause ends when the user saves the settings, and after a failed charge also when the user pays an order. */
  autoPaused: text('auto_paused'),
  /** The outcome of the last auto top-up, or why the next one was held back. */
  autoOutcome: text('auto_outcome'),
  autoOutcomeAt: instant('auto_outcome_at'),
});

export const railCustomers = pgTable(
  'rail_customers',
  { accountId: accountId(), rail: rail(), customer: text('customer').notNull() },
  (table) => [primaryKey({ columns: [table.accountId, table.rail] })],
);

/**
 * The grant of an account for a UTC month, `YYYY-MM`. Its rest, neither spent nor expired, is part of the account's balance.
 * Changed only under a lock on the account.
 */
export const monthlyGrants = pgTable(
  'monthly_grants',
  {
    accountId: accountId(),
    month: text('month').notNull(),
    amountNusd: nusd('amount_nusd').notNull(),
    /** The charges that the grant has paid. */
    spentNusd: nusd('spent_nusd').notNull().default(sql`0`),
    expiredNusd: nusd('expired_nusd').notNull().default(sql`0`),
    /** One of the account's identities has had the month's grant in another account. Forgotten after the month. */
    refused: boolean('refused').notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.month] }),
    index('monthly_grants_left_idx')
      .on(table.accountId, table.month)
      .where(sql`${table.amountNusd} > ${table.spentNusd} + ${table.expiredNusd}`),
    index('monthly_grants_refused_idx').on(table.month).where(sql`${table.refused}`),
    check(
      'monthly_grants_parts',
      sql`${table.spentNusd} >= 0 and ${table.expiredNusd} >= 0 and ${table.spentNusd} + ${table.expiredNusd} <= ${table.amountNusd}`,
    ),
  ],
);

/** The key of each month, 32 random bytes in base64url, under which its identities are hashed. */
export const grantKeys = pgTable('grant_keys', { month: text('month').primaryKey(), key: text('key').notNull() });

/**
 * Keyed hashes of the identities to which a month's grants went. No row names an account. They are deleted with the key of their
 * month, soon after it ends.
 */
export const grantIdentities = pgTable(
  'grant_identities',
  {
    month: text('month')
      .notNull()
      .references(() => grantKeys.month, { onDelete: 'cascade' }),
    hash: text('hash').notNull(),
  },
  (table) => [primaryKey({ columns: [table.month, table.hash] })],
);
