import { randomUUID } from 'node:crypto';
import type { WalletOrder } from '@sotto/contract/control/wallets';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { areFree, claimHashes, type WalletHashes } from '../../wallets/deposit.ts';
import { type OrderRow, orderColumns, toOrderAnswer, toRecord } from './order-record.ts';
import {
  insertNew,
  openNew,
  type PlaceDependencies,
  type PlacedOrder,
  packageOf,
  railIsOff,
  resume,
} from './place-order.ts';

export interface AskedWallet extends WalletHashes {
  readonly packageId: string;
}

/**
 * The most orders for wallets in a minute, in all. Anybody may place them, without an account and through a relay that many share, so
 * this alone bounds the rows and invoices that nobody pays.
 */
export const walletOrdersAMinute = 5;

/**
 * Places the order whose payment creates an anonymous wallet, or finds it: the hashes of the wallet name it. As with other orders, the row
 * comes before the invoice, and `applyEvent` settles it. Its account exists only then. Returns undefined once it is paid.
 */
export async function orderWallet(deps: PlaceDependencies, asked: AskedWallet): Promise<WalletOrder | undefined> {
  const { order: placed, isNew } = (await findPlaced(deps.pool, asked)) ?? (await place(deps, asked));
  const order = await (isNew ? openNew : resume)(deps, placed);
  if (order.status === 'paid' || order.status === 'refunded') return undefined;
  return { ...toOrderAnswer(order), pay_to: order.status === 'pending' ? [...order.payTo] : [] };
}

async function place(deps: PlaceDependencies, asked: AskedWallet): Promise<PlacedOrder> {
  const { plan, rails, pool, now } = deps;
  if (rails.crypto === undefined) throw railIsOff(rails, 'crypto');
  const bought = packageOf(plan, asked.packageId);
  // Refused before the lock, so that a flood of orders does not delay deposits.
  await assertFew(pool, now());
  if (!(await areFree(pool, asked))) return placedMeanwhile(pool, asked);
  return inTransaction(pool, async (client) => {
    const isFree = await claimHashes(client, asked, 'alone');
    const meanwhile = await findPlaced(client, asked);
    if (meanwhile !== undefined) return meanwhile;
    await assertFew(client, now());
    if (!isFree) throw isTaken();
    const order = await insertNew(client, deps, {
      ...{ accountId: randomUUID(), rail: 'crypto', bought, wallet: asked },
      ...{ automatic: false, saveCard: false, card: undefined, formId: undefined },
    });
    return { order, isNew: true };
  });
}

/** Finds an order that another request placed just now. Throws if its hashes belong to something else. */
async function placedMeanwhile(pool: pg.Pool, asked: AskedWallet): Promise<PlacedOrder> {
  const meanwhile = await findPlaced(pool, asked);
  if (meanwhile === undefined) throw isTaken();
  return meanwhile;
}

async function findPlaced(db: pg.Pool | pg.PoolClient, asked: AskedWallet): Promise<PlacedOrder | undefined> {
  const { rows } = await db.query<OrderRow & { is_same: boolean }>(
    `select ${orderColumns}, o.wallet_key_hash = $1 and o.wallet_close_hash = $2 and o.package_id = $3 as is_same
     from orders o where o.wallet_key_hash = $1 or o.wallet_close_hash = $2`,
    [asked.keyHash, asked.closeHash, asked.packageId],
  );
  const [row] = rows;
  if (row?.is_same === false) throw isTaken();
  return row && { order: toRecord(row), isNew: false };
}

const isTaken = (): ServiceError =>
  new ServiceError('conflict', { message: 'There is another wallet or order with this key or this secret.' });

async function assertFew(db: pg.Pool | pg.PoolClient, nowMs: number): Promise<void> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int from orders where wallet_key_hash is not null and created_at > $1',
    [new Date(nowMs - 60_000)],
  );
  if ((rows[0]?.count ?? 0) >= walletOrdersAMinute)
    throw new ServiceError('rate_limited', {
      message: 'Too many wallets are being ordered on this deployment. Try again in a minute.',
      retryAfterS: 60,
    });
}

/** Deletes orders for wallets whose rail is asked no more and has reported no money. BTCPay stopped watching their addresses before. */
export async function forgetUnpaid(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from orders where wallet_key_hash is not null and next_check_at is null and status in ('expired', 'failed')
       and flag is null and failure is distinct from 'payment_invalid'`,
  );
}
