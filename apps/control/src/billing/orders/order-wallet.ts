import { randomUUID } from 'node:crypto';
import type { WalletOrder } from '@sotto/contract/control/wallets';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { Refused, refused } from '../../database/refused.ts';
import { areFree, claimHashes, type WalletHashes } from '../../wallets/deposit.ts';
import { type OrderRow, orderColumns, toOrderAnswer, toRecord } from './order-record.ts';
import {
  insertNew,
  type NoPackage,
  openNew,
  type PlaceDependencies,
  type PlacedOrder,
  packageOf,
  type RailOff,
  type RailRefused,
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

/** Another wallet or order has the key or the secret. */
interface Taken {
  readonly why: 'taken';
}

/** `many`: as many orders as may have come in the last minute. */
export type WalletNotOrdered = NoPackage | RailOff | RailRefused | Taken | { readonly why: 'many' };

/**
 * Places the order whose payment creates an anonymous wallet, or finds it: the hashes of the wallet name it. As with other orders, the row
 * comes before the invoice, and `applyEvent` settles it. Its account exists only then. Returns undefined once it is paid.
 */
export async function orderWallet(
  deps: PlaceDependencies,
  asked: AskedWallet,
): Promise<WalletOrder | Refused<WalletNotOrdered> | undefined> {
  const placed = (await findPlaced(deps.pool, asked)) ?? (await place(deps, asked));
  if (placed instanceof Refused) return placed;
  const order = await (placed.isNew ? openNew : resume)(deps, placed.order);
  if (order instanceof Refused) return order;
  if (order.status === 'paid' || order.status === 'refunded') return undefined;
  return { ...toOrderAnswer(order), pay_to: order.status === 'pending' ? [...order.payTo] : [] };
}

async function place(deps: PlaceDependencies, asked: AskedWallet): Promise<PlacedOrder | Refused<WalletNotOrdered>> {
  const { plan, rails, pool, now } = deps;
  if (rails.crypto === undefined) return railIsOff(rails, 'crypto');
  const bought = packageOf(plan, asked.packageId);
  if (bought instanceof Refused) return bought;
  // Refused before the lock, so that a flood of orders does not delay deposits.
  if (!(await areFew(pool, now()))) return refused('many');
  // An order that another request placed just now, or something else.
  if (!(await areFree(pool, asked))) return (await findPlaced(pool, asked)) ?? refused('taken');
  return inTransaction(pool, async (client) => {
    const isFree = await claimHashes(client, asked, 'alone');
    const meanwhile = await findPlaced(client, asked);
    if (meanwhile !== undefined) return meanwhile;
    if (!(await areFew(client, now()))) return refused('many');
    if (!isFree) return refused('taken');
    const order = await insertNew(client, deps, {
      ...{ accountId: randomUUID(), rail: 'crypto', bought, wallet: asked },
      ...{ automatic: false, saveCard: false, card: undefined, formId: undefined },
    });
    return { order, isNew: true };
  });
}

async function findPlaced(
  db: pg.Pool | pg.PoolClient,
  asked: AskedWallet,
): Promise<PlacedOrder | Refused<Taken> | undefined> {
  const { rows } = await db.query<OrderRow & { is_same: boolean }>(
    `select ${orderColumns}, o.wallet_key_hash = $1 and o.wallet_close_hash = $2 and o.package_id = $3 as is_same
     from orders o where o.wallet_key_hash = $1 or o.wallet_close_hash = $2`,
    [asked.keyHash, asked.closeHash, asked.packageId],
  );
  const [row] = rows;
  if (row?.is_same === false) return refused('taken');
  return row && { order: toRecord(row), isNew: false };
}

async function areFew(db: pg.Pool | pg.PoolClient, nowMs: number): Promise<boolean> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int from orders where wallet_key_hash is not null and created_at > $1',
    [new Date(nowMs - 60_000)],
  );
  return (rows[0]?.count ?? 0) < walletOrdersAMinute;
}

/** Deletes orders for wallets whose rail is asked no more and has reported no money, also none on its way. BTCPay stopped watching their addresses before. */
export async function forgetUnpaid(pool: pg.Pool): Promise<void> {
  await pool.query(
    `delete from orders where wallet_key_hash is not null and next_check_at is null and status in ('expired', 'failed')
       and flag is null and failure is distinct from 'payment_invalid'`,
  );
}
