import {
  type Nusd,
  nusdToUsd,
  type OrderFlag,
  type OrderFunds,
  type OrderStatus,
  orderTotal,
  returnedNusd,
} from '@sotto/money';
import type { OrderAnswer, RailName } from '@sotto/wire';
import type { RailOrder } from '../rails/rail.ts';
import { sentenceOf } from './sentences.ts';

/** An order as Postgres has it. */
export interface OrderRecord extends OrderFunds, RailOrder {
  readonly rail: RailName;
  readonly packageId: string;
  readonly checkoutUrl: string | undefined;
  readonly failure: string | undefined;
  readonly flag: OrderFlag | undefined;
  readonly paidAt: Date | undefined;
  readonly receiptNumber: string | undefined;
}

export interface OrderRow {
  id: string;
  account_id: string;
  status: OrderStatus;
  rail: RailName;
  package_id: string;
  amount_nusd: string;
  fee_nusd: string;
  refunded_nusd: string;
  disputed_nusd: string;
  automatic: boolean;
  save_card: boolean;
  rail_reference: string | null;
  card: string | null;
  checkout_url: string | null;
  payment: string | null;
  failure: string | null;
  flag: OrderFlag | null;
  created_at: Date;
  expires_at: Date;
  paid_at: Date | null;
  receipt_number: string | null;
}

/** What every read of orders selects; `o` is the order. */
export const orderColumns = `o.id, o.account_id, o.status, o.rail, o.package_id, o.amount_nusd, o.fee_nusd, o.refunded_nusd,
  o.disputed_nusd, o.automatic, o.save_card, o.rail_reference, o.card, o.checkout_url, o.payment, o.failure, o.flag,
  o.created_at, o.expires_at, o.paid_at,
  (select r.number from receipts r where r.order_id = o.id and r.kind = 'receipt') as receipt_number`;

export const toRecord = (row: OrderRow): OrderRecord => ({
  id: row.id,
  accountId: row.account_id,
  status: row.status,
  rail: row.rail,
  packageId: row.package_id,
  amountNusd: BigInt(row.amount_nusd),
  feeNusd: BigInt(row.fee_nusd),
  refundedNusd: BigInt(row.refunded_nusd),
  disputedNusd: BigInt(row.disputed_nusd),
  automatic: row.automatic,
  saveCard: row.save_card,
  reference: row.rail_reference ?? undefined,
  card: row.card ?? undefined,
  checkoutUrl: row.checkout_url ?? undefined,
  payment: row.payment ?? undefined,
  failure: row.failure ?? undefined,
  flag: row.flag ?? undefined,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  paidAt: row.paid_at ?? undefined,
  receiptNumber: row.receipt_number ?? undefined,
});

const usd = (amount: Nusd): number => nusdToUsd(amount);

/** An order as its account sees it. */
export function toOrderAnswer(order: OrderRecord): OrderAnswer {
  const problem = order.flag ?? order.failure;
  const payable = order.status === 'pending' ? order.checkoutUrl : undefined;
  return {
    id: order.id,
    status: order.status,
    package_id: order.packageId,
    rail: order.rail,
    currency: 'USD',
    amount: usd(order.amountNusd),
    fee: usd(order.feeNusd),
    total: usd(orderTotal(order)),
    refunded: usd(returnedNusd(order)),
    automatic: order.automatic,
    ...(payable === undefined ? {} : { checkout_url: payable }),
    problem: problem === undefined ? null : { code: problem, message: sentenceOf(problem) },
    receipt_number: order.receiptNumber ?? null,
    created_at: order.createdAt.toISOString(),
    expires_at: order.expiresAt.toISOString(),
    paid_at: order.paidAt?.toISOString() ?? null,
  };
}
