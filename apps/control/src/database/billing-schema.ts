import { orderStatuses } from '@sotto/money';
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
import { accounts } from './schema.ts';

// Times of billing come from control's clock, in whole milliseconds, so that cursors are exact.
const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });
const nusd = (name: string) => bigint(name, { mode: 'bigint' });
const rail = () => text('rail', { enum: ['card', 'crypto', 'test'] }).notNull();
const account = () =>
  uuid('account_id')
    .notNull()
    .references(() => accounts.id);

/** Purchase orders. What moves them is `applyOrderEvent` of packages/money, under a lock on the row. */
export const orders = pgTable(
  'orders',
  {
    id: uuid('id').primaryKey(),
    accountId: account(),
    status: text('status', { enum: orderStatuses }).notNull(),
    rail: rail(),
    packageId: text('package_id').notNull(),
    amountNusd: nusd('amount_nusd').notNull(),
    feeNusd: nusd('fee_nusd').notNull(),
    refundedNusd: nusd('refunded_nusd').notNull().default(sql`0`),
    disputedNusd: nusd('disputed_nusd').notNull().default(sql`0`),
    /** Made by auto top-up, and charged to the saved card. */
    automatic: boolean('automatic').notNull(),
    saveCard: boolean('save_card').notNull(),
    /** The rail's id of what was opened: a checkout session, an invoice, a payment intent. */
    railReference: text('rail_reference'),
    /** The card that auto top-up charges; kept before it is charged, so that a repeated charge is the same one. */
    card: text('card'),
    /** Made by the form or program that placed it, once: the same order placed again is this one. */
    formId: text('form_id'),
    checkoutUrl: text('checkout_url'),
    /** The rail's id of the payment that was credited. */
    payment: text('payment'),
    /** Why it failed, or what a person has to look at; a code and a public sentence each. */
    failure: text('failure'),
    flag: text('flag'),
    explanation: text('explanation'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    paidAt: instant('paid_at'),
    /** When the rail is asked of it next; null: never again. Also the lease of whoever is asking now. */
    nextCheckAt: instant('next_check_at'),
  },
  (table) => [
    index('orders_account_idx').on(table.accountId, table.createdAt.desc(), table.id.desc()),
    index('orders_next_check_idx').on(table.nextCheckAt).where(sql`${table.nextCheckAt} is not null`),
    uniqueIndex('orders_reference_idx').on(table.rail, table.railReference),
    index('orders_payment_idx').on(table.rail, table.payment),
    uniqueIndex('orders_one_automatic_idx')
      .on(table.accountId)
      .where(sql`${table.automatic} and ${table.status} in ('created', 'pending')`),
    uniqueIndex('orders_form_idx').on(table.accountId, table.formId).where(sql`${table.formId} is not null`),
    check('orders_amounts', sql`${table.amountNusd} > 0 and ${table.feeNusd} >= 0`),
    check('orders_returns', sql`${table.refundedNusd} >= 0 and ${table.disputedNusd} >= 0`),
  ],
);

/** What changed an order, when and on whose word. Append-only. */
export const orderEvents = pgTable(
  'order_events',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    orderId: uuid('order_id')
      .notNull()
      .references(() => orders.id),
    at: instant('at').notNull(),
    source: text('source').notNull(),
    event: text('event').notNull(),
    fromStatus: text('from_status').notNull(),
    toStatus: text('to_status').notNull(),
    flag: text('flag'),
  },
  (table) => [index('order_events_order_idx').on(table.orderId)],
);

/** The last receipt number of each year. Its row is locked by whoever writes a receipt: numbers have no gaps. */
export const receiptCounters = pgTable('receipt_counters', {
  year: integer('year').primaryKey(),
  last: integer('last').notNull(),
});

/** Receipts and credit notes as they were issued. Append-only: a refund gets a note of its own. */
export const receipts = pgTable(
  'receipts',
  {
    number: text('number').primaryKey(),
    kind: text('kind', { enum: ['receipt', 'credit_note'] }).notNull(),
    orderId: uuid('order_id')
      .notNull()
      .references(() => orders.id),
    accountId: account(),
    issuedAt: instant('issued_at').notNull(),
    rail: rail(),
    amountNusd: nusd('amount_nusd').notNull(),
    feeNusd: nusd('fee_nusd').notNull(),
    /** A credit note's receipt. */
    corrects: text('corrects'),
    accountName: text('account_name').notNull(),
    accountEmail: text('account_email'),
    seller: jsonb('seller').notNull(),
  },
  (table) => [
    index('receipts_account_idx').on(table.accountId, table.issuedAt.desc(), table.number.desc()),
    uniqueIndex('receipts_one_an_order_idx').on(table.orderId).where(sql`${table.kind} = 'receipt'`),
  ],
);

/** What an account wants: a notice when its balance is low, top-ups by themselves. And how the last of them went. */
export const billingSettings = pgTable('billing_settings', {
  accountId: account().primaryKey(),
  lowBalanceNusd: nusd('low_balance_nusd'),
  /** Since when the balance is below; set once a crossing. */
  lowSince: instant('low_since'),
  autoEnabled: boolean('auto_enabled').notNull().default(false),
  autoThresholdNusd: nusd('auto_threshold_nusd'),
  autoPackageId: text('auto_package_id'),
  autoMonthlyLimitNusd: nusd('auto_monthly_limit_nusd'),
  /** Why there are no more of them until the person saves the settings or pays an order. */
  autoPaused: text('auto_paused'),
  /** How the last one ended, or what held the next one back. */
  autoOutcome: text('auto_outcome'),
  autoOutcomeAt: instant('auto_outcome_at'),
});

/** An account as a rail knows it. */
export const railCustomers = pgTable(
  'rail_customers',
  { accountId: account(), rail: rail(), customer: text('customer').notNull() },
  (table) => [primaryKey({ columns: [table.accountId, table.rail] })],
);
