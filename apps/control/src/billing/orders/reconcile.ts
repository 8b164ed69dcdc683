import type pg from 'pg';
import { type PaymentRail, RailRefusedError, RailUnavailableError } from '../rails/rail.ts';
import { type ApplyDependencies, applyEvent } from './apply-event.ts';
import { nextCheck, openingLeaseMs } from './next-check.ts';
import { openOrder } from './open-order.ts';
import { type OrderRecord, type OrderRow, orderColumns, toRecord } from './order-record.ts';
import type { PlaceDependencies } from './place-order.ts';

/** Asked about at once, so that each is asked within its lease even where a rail lets every call run out of time. */
const batch = 8;
const source = 'reconcile';

/**
 * Repairs what crashes and lost webhooks leave behind: asks the rails about every order whose time has come, opens what
 * was not opened, expires what nobody paid, and credits what was paid without our hearing of it. Answers whether there
 * may be more to do.
 *
 * An order is claimed by moving its `next_check_at`, in one statement that skips what others are claiming, so that of
 * several control processes one asks. A process that dies with a claim loses it by time.
 */
export async function reconcileOrders(deps: PlaceDependencies): Promise<boolean> {
  const claimed = await claimDue(deps.pool, new Date(deps.now()));
  const one = async (order: OrderRecord): Promise<void> => {
    try {
      await reconcileOrder(deps, order);
    } catch (error) {
      const isRail = error instanceof RailUnavailableError || error instanceof RailRefusedError;
      if (isRail) deps.events.railFailed({ rail: order.rail, action: 'observe', code: error.code });
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
    // Nobody was ever shown where to pay it. A charge may have been made, though: that is asked for, however late.
    if (isOver && !order.automatic) await applyEvent(deps, order.id, { type: 'expired' }, { source });
    else if (rail !== undefined) await openOrder(deps, { rail, order, source });
    return;
  }
  // Switched off since: it cannot be asked, and its webhooks are not heard. What it knows is asked for when it is back.
  if (rail === undefined) return schedule(deps, order);
  const mayBePaid = await observe(deps, rail, order);
  if (isOpen && isOver && mayBePaid) {
    await rail.close(order);
    // What was paid while it was being closed counts.
    if (await observe(deps, rail, order)) await applyEvent(deps, order.id, { type: 'expired' }, { source });
  }
  await schedule(deps, order);
}

/** Asks, and applies what is said. Answers whether the order is still open with nothing on its way. */
async function observe(deps: ApplyDependencies, rail: PaymentRail, order: OrderRecord): Promise<boolean> {
  const { events, processing } = await rail.observe(order);
  for (const event of events) await applyEvent(deps, order.id, event, { source });
  return events.length === 0 && !processing;
}

/** Sets when to ask again, by what the order is now. */
async function schedule({ pool, now }: ApplyDependencies, { id }: OrderRecord): Promise<void> {
  const { rows } = await pool.query<OrderRow>(`select ${orderColumns} from orders o where o.id = $1`, [id]);
  const [row] = rows;
  if (row === undefined) return;
  await pool.query('update orders set next_check_at = $2 where id = $1 and status = $3', [
    id,
    nextCheck(toRecord(row), new Date(now())) ?? null,
    row.status,
  ]);
}

/** A person who asks about an order that is not paid yet brings the next look at its rail forward. */
export async function hurryCheck(pool: pg.Pool, orderId: string, now: Date): Promise<void> {
  // Not more often than every few seconds, and never an order that is being opened.
  await pool.query(`update orders set next_check_at = least(next_check_at, $2) where id = $1 and status = 'pending'`, [
    orderId,
    new Date(now.getTime() + 5_000),
  ]);
}
