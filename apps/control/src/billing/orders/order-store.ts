import type { OperatorOrderPage, OperatorOrderQuery } from '@sotto/contract/control/operator';
import type { OrderPage } from '@sotto/contract/control/orders';
import type pg from 'pg';
import { type PageQuery, pageOf, readCursor, uuidPattern } from '../../serve/page-cursor.ts';
import type { OrderPointer } from '../rails/rail.ts';
import { type OrderRecord, type OrderRow, orderColumns, toOrderAnswer, toRecord } from './order-record.ts';

type Queryable = pg.Pool | pg.PoolClient;

/** The period in which only one process may open an order. */
interface Lease {
  readonly now: Date;
  readonly until: Date;
}

/** Inserts a new order. The caller holds the account's lock, under which it checked the limits. */
export async function insertOrder(
  client: pg.PoolClient,
  order: Pick<
    OrderRecord,
    | 'id'
    | 'accountId'
    | 'rail'
    | 'packageId'
    | 'amountNusd'
    | 'feeNusd'
    | 'automatic'
    | 'saveCard'
    | 'card'
    | 'createdAt'
    | 'expiresAt'
  > & { readonly formId: string | undefined; readonly wallet?: OrderRecord['wallet'] },
  nextCheckAt: Date,
): Promise<OrderRecord> {
  const { rows } = await client.query<OrderRow>(
    `insert into orders as o (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, card,
       created_at, expires_at, next_check_at, form_id, wallet_key_hash, wallet_close_hash)
     values ($1, $2, 'created', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) returning ${orderColumns}`,
    [
      order.id,
      order.accountId,
      order.rail,
      order.packageId,
      order.amountNusd,
      order.feeNusd,
      order.automatic,
      order.saveCard,
      order.card ?? null,
      order.createdAt,
      order.expiresAt,
      nextCheckAt,
      order.formId ?? null,
      order.wallet?.keyHash ?? null,
      order.wallet?.closeHash ?? null,
    ],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the order was not inserted');
  return toRecord(row);
}

/** Returns the order `o` that a condition selects, or undefined. */
async function readOrder(
  db: Queryable,
  condition: string,
  values: readonly string[],
): Promise<OrderRecord | undefined> {
  const { rows } = await db.query<OrderRow>(`select ${orderColumns} from orders o where ${condition}`, [...values]);
  return rows[0] && toRecord(rows[0]);
}

/** Returns an order of an account, or undefined if the account does not have it. */
export const findOrder = (db: Queryable, accountId: string, orderId: string): Promise<OrderRecord | undefined> =>
  readOrder(db, 'o.id = $1 and o.account_id = $2', [orderId, accountId]);

export const findFormsOrder = (db: Queryable, accountId: string, formId: string): Promise<OrderRecord | undefined> =>
  readOrder(db, 'o.account_id = $1 and o.form_id = $2', [accountId, formId]);

/**
 * Takes the lease of a created order after the previous lease has ended, as the reconcile loop does. Of several
 * simultaneous calls, only one returns true.
 */
export async function claimOpening(db: Queryable, orderId: string, lease: Lease): Promise<boolean> {
  const { rowCount } = await db.query(
    `update orders set next_check_at = $3 where id = $1 and status = 'created' and next_check_at <= $2 and expires_at > $2`,
    [orderId, lease.now, lease.until],
  );
  return rowCount === 1;
}

/** Returns an order by its id, locked until the transaction ends. */
export const lockOrder = (client: pg.PoolClient, orderId: string): Promise<OrderRecord | undefined> =>
  readOrder(client, 'o.id = $1 for update of o', [orderId]);

/** Finds the order that a rail refers to. Tries our id first, which the rail was given, then the rail's own. */
export async function findOrderId(
  pool: pg.Pool,
  rail: string,
  { orderId, reference, payment }: OrderPointer,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from orders where rail = $1 and (id = $2::uuid or rail_reference = $3 or payment = $4)
     order by (id = $2::uuid) desc nulls last limit 1`,
    [rail, orderId !== undefined && uuidPattern.test(orderId) ? orderId : null, reference ?? null, payment ?? null],
  );
  return rows[0]?.id;
}

const endOf = (row: OrderRow) => ({ at: row.created_at, id: row.id });

export async function listOrders(pool: pg.Pool, accountId: string, page: PageQuery): Promise<OrderPage> {
  return pageOf(await readPage(pool, { accountId }, page), page.limit, {
    endOf,
    toAnswer: (row) => toOrderAnswer(toRecord(row)),
  });
}

/** Returns one page of the orders of all accounts, newest first. Without those for wallets that brought no money, which anybody can place. */
export async function listAllOrders(
  pool: pg.Pool,
  { from, to, ...page }: PageQuery & Pick<OperatorOrderQuery, 'from' | 'to'>,
): Promise<OperatorOrderPage> {
  const rows = await readPage(pool, { from, to }, page);
  return pageOf(rows, page.limit, {
    endOf,
    toAnswer(row) {
      const { checkout_url: _, ...order } = toOrderAnswer(toRecord(row));
      return { ...order, account_id: row.account_id, account_email: row.account_email };
    },
  });
}

/** Reads the orders of an account, or of all, of a time, and one more than a page has. */
async function readPage(
  pool: pg.Pool,
  { accountId, from, to }: { accountId?: string; from?: Date | undefined; to?: Date | undefined },
  { limit, cursor }: PageQuery,
): Promise<(OrderRow & { readonly account_email: string | null })[]> {
  const after = readCursor(cursor);
  const { rows } = await pool.query<OrderRow & { readonly account_email: string | null }>(
    `select ${orderColumns},
       (select u.email from accounts a join auth_user u on u.id = a.user_id where a.id = o.account_id) as account_email
     from orders o where ($1::uuid is null or o.account_id = $1)
       and (o.wallet_key_hash is null or o.payment is not null or o.flag is not null)
       and ($2::timestamptz is null or (o.created_at, o.id) < ($2::timestamptz, $3::uuid))
       and ($5::timestamptz is null or o.created_at >= $5) and ($6::timestamptz is null or o.created_at < $6)
     order by o.created_at desc, o.id desc limit $4`,
    [accountId ?? null, after?.at ?? null, after?.id ?? null, limit + 1, from ?? null, to ?? null],
  );
  return rows;
}
