import type pg from 'pg';
import { type PaymentRail, RailError } from '../rails/rail.ts';
import { type ApplyDependencies, applyEvent } from './apply-event.ts';
import { nextCheck, type OrderRecord, type OrderRow, openingLeaseMs, orderColumns, toRecord } from './order-record.ts';
import { openOrder, type PlaceDependencies } from './place-order.ts';

/** Orders checked in parallel. Each is then checked within its lease, even if every call to a rail times out. */
const batch = 8;
const source = 'reconcile';

/** SQL condition: an order is due. `DueWork` asks it. */
export const orderIsDue = 'exists (select from orders where next_check_at <= $1)';

/**
 * Repairs the effects of crashes and lost webhooks. It asks the rails about every order that is due and opens orders
 * that were not opened. It expires unpaid orders and credits payments that we were not told of. Returns whether there
 * may be more to do.
 *
 * A process claims an order by moving its `next_check_at`, in one statement that skips rows which others are claiming.
 * So only one of several control processes asks. The claim of a process that dies expires.
 */
export async function reconcileOrders(deps: PlaceDependencies): Promise<boolean> {
  const claimed = await claimDue(deps.pool, new Date(deps.now()));
  const one = async (order: OrderRecord): Promise<void> => {
    try {
      await reconcileOrder(deps, order);
    } catch (error) {
      if (error instanceof RailError) deps.events.railFailed({ rail: order.rail, action: 'observe', code: error.code });
      else deps.events.taskFailed('orders', error);
    }
  };
  await Promise.all(claimed.map(one));
  return claimed.length === batch;
}

async function claimDue(pool: pg.Pool, now: Date): Promise<OrderRecord[]> {
  const { rows } = await pool.query<OrderRow>(
    `update orders o set next_check_at = $2 where o.id in
       (select id from orders where next_check_at <= $1 order by next_check_at limit $3 for update skip locked)
     returning ${orderColumns}`,
    [now, new Date(now.getTime() + openingLeaseMs), batch],
  );
  return rows.map(toRecord);
}

async function reconcileOrder(deps: PlaceDependencies, order: OrderRecord): Promise<void> {
  const rail = deps.rails[order.rail];
  const isOver = order.expiresAt.getTime() <= deps.now();
  const isOpen = order.status === 'created' || order.status === 'pending';
  if (order.status === 'created') {
    // No person ever saw where to pay this order. An automatic one may have been charged, though, so ask about it,
    // however late.
    if (isOver && !order.automatic) await applyEvent(deps, order.id, { type: 'expired' }, { source });
    else if (rail !== undefined) await openOrder(deps, { rail, order, source });
    return;
  }
  // The rail is switched off since. It cannot be asked, and its webhooks are not accepted. Ask once it is back.
  if (rail === undefined) return schedule(deps, order);
  let seen = await observe(deps, rail, order);
  if (isOpen && isOver && seen === 'unpaid') {
    await rail.close(order);
    // A payment that arrived during the closing counts.
    seen = await observe(deps, rail, order);
    if (seen === 'unpaid') await applyEvent(deps, order.id, { type: 'expired' }, { source });
  }
  await schedule(deps, order, { processing: seen === 'processing' });
}

/** Asks the rail and applies its events. Without any, returns whether a payment is on its way. */
async function observe(
  deps: ApplyDependencies,
  rail: PaymentRail,
  order: OrderRecord,
): Promise<'told' | 'processing' | 'unpaid'> {
  const { events, processing } = await rail.observe(order);
  for (const event of events) await applyEvent(deps, order.id, event, { source });
  return processing ? 'processing' : events.length > 0 ? 'told' : 'unpaid';
}

/** Sets when to ask again, by the order's present state and what the rail said. */
async function schedule(
  { pool, now }: ApplyDependencies,
  { id }: OrderRecord,
  said: { readonly processing?: boolean } = {},
): Promise<void> {
  const { rows } = await pool.query<OrderRow>(`select ${orderColumns} from orders o where o.id = $1`, [id]);
  const [row] = rows;
  if (row === undefined) return;
  await pool.query('update orders set next_check_at = $2 where id = $1 and status = $3', [
    id,
    nextCheck(toRecord(row), new Date(now()), said) ?? null,
    row.status,
  ]);
}

/** Brings the next check forward when a person looks at an order that is not paid yet. */
export async function hurryCheck(pool: pg.Pool, orderId: string, now: Date): Promise<void> {
  // Wait at least five seconds, and leave alone an order that is being opened.
  await pool.query(`update orders set next_check_at = least(next_check_at, $2) where id = $1 and status = 'pending'`, [
    orderId,
    new Date(now.getTime() + 5_000),
  ]);
}
