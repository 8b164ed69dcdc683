import type { RailName, ReceiptAnswer, ReceiptPage } from '@sotto/contract/control/orders';
import { type Nusd, nusdToUsd } from '@sotto/money';
import type pg from 'pg';
import * as z from 'zod';
import type { receipts } from '../../database/billing-schema.ts';
import type { SqlRow } from '../../database/columns.ts';
import { type PageQuery, pageOf, readCursor } from '../../serve/page-cursor.ts';

const sellerSchema = z.object({ name: z.string(), address: z.string(), tax_id: z.string().nullable() });
/** The seller, as configured when the receipt was issued. */
export type Seller = z.infer<typeof sellerSchema>;

export interface NewPaymentReceipt {
  readonly kind: 'receipt' | 'credit_note';
  readonly orderId: string;
  readonly accountId: string;
  readonly rail: RailName;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
  readonly seller: Seller;
  readonly issuedAt: Date;
}

/**
 * Issues a receipt or a credit note, within the transaction that moves the money. The counter's row stays locked until
 * that transaction ends. The next receipt therefore gets the next number, or this one again after a rollback. So the
 * numbers do not have gaps. The receipt copies the account's present name, address and details.
 */
export async function issuePaymentReceipt(client: pg.PoolClient, receipt: NewPaymentReceipt): Promise<string> {
  const year = receipt.issuedAt.getUTCFullYear();
  const counted = await client.query<{ last: number }>(
    `insert into receipt_counters as c (year, last) values ($1, 1)
     on conflict (year) do update set last = c.last + 1 returning last`,
    [year],
  );
  const number = `${year}-${String(counted.rows[0]?.last).padStart(6, '0')}`;
  await client.query(
    `insert into receipts (number, kind, order_id, account_id, issued_at, rail, amount_nusd, fee_nusd, corrects,
       account_name, account_email, account_details, seller)
     select $1, $2, $3::uuid, a.id, $5, $6, $7, $8,
       case when $2 = 'credit_note' then (select number from receipts where order_id = $3::uuid and kind = 'receipt') end,
       coalesce(u.name, a.name), u.email, s.receipt_details, $9
     from accounts a left join auth_user u on u.id = a.user_id left join billing_settings s on s.account_id = a.id
     where a.id = $4`,
    [
      number,
      receipt.kind,
      receipt.orderId,
      receipt.accountId,
      receipt.issuedAt,
      receipt.rail,
      receipt.amountNusd,
      receipt.feeNusd,
      JSON.stringify(receipt.seller),
    ],
  );
  return number;
}

type ReceiptRow = SqlRow<typeof receipts>;

const receiptNumberPattern = /^\d{4}-\d{6,9}$/;

/** Returns a receipt of an account, or undefined if the account does not have it. */
export async function findPaymentReceipt(
  pool: pg.Pool,
  accountId: string,
  number: string,
): Promise<ReceiptAnswer | undefined> {
  if (!receiptNumberPattern.test(number)) return undefined;
  const { rows } = await pool.query<ReceiptRow>('select * from receipts where number = $1 and account_id = $2', [
    number,
    accountId,
  ]);
  return rows[0] && toAnswer(rows[0]);
}

/** Returns one page of an account's receipts, newest first. */
export async function listPaymentReceipts(
  pool: pg.Pool,
  accountId: string,
  { limit, cursor }: PageQuery,
): Promise<ReceiptPage> {
  const after = readCursor(cursor, receiptNumberPattern);
  const { rows } = await pool.query<ReceiptRow>(
    `select * from receipts where account_id = $1
       and ($2::timestamptz is null or (issued_at, number) < ($2::timestamptz, $3::text))
     order by issued_at desc, number desc limit $4`,
    [accountId, after?.at ?? null, after?.id ?? null, limit + 1],
  );
  return pageOf(rows, limit, { endOf: (row) => ({ at: row.issued_at, id: row.number }), toAnswer });
}

const toAnswer = (row: ReceiptRow): ReceiptAnswer => ({
  number: row.number,
  kind: row.kind,
  corrects: row.corrects,
  issued_at: row.issued_at.toISOString(),
  order_id: row.order_id,
  rail: row.rail,
  currency: 'USD',
  amount: nusdToUsd(BigInt(row.amount_nusd)),
  fee: nusdToUsd(BigInt(row.fee_nusd)),
  total: nusdToUsd(BigInt(row.amount_nusd) + BigInt(row.fee_nusd)),
  account: { id: row.account_id, name: row.account_name, email: row.account_email, details: row.account_details },
  seller: sellerSchema.parse(row.seller),
});
