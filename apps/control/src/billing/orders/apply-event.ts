import { applyOrderEvent, type OrderEffect, type OrderEvent, type OrderFlag } from '@sotto/money';
import type pg from 'pg';
import { isDisputed, namedDispute } from '../../database/billing-schema.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import type { ControlEvents } from '../../events.ts';
import { creditWithin, debitWithin, ledgerAccounts, transferWithin } from '../../ledger/post-transaction.ts';
import { makeWallet } from '../../wallets/deposit.ts';
import { recordOutcome } from '../auto-top-up/outcome.ts';
import { issuePaymentReceipt, type Seller } from '../payment-receipts/payment-receipt-store.ts';
import type { Opened, RailEvent } from '../rails/rail.ts';
import { nextCheck, type OrderRecord } from './order-record.ts';
import { lockOrder } from './order-store.ts';

export interface ApplyDependencies {
  readonly pool: pg.Pool;
  readonly seller: Seller;
  readonly events: ControlEvents;
  /**
   * Publishes to the shared state how much an account may spend now. The projector's own loop makes up for failures.
   */
  readonly project: (accountId: string) => Promise<void>;
  readonly now: () => number;
}

/** The source of an event, kept in the order's history. */
export type EventSource = 'order' | 'webhook' | 'reconcile' | 'auto_top_up' | 'operator';

/** An event about an order, and who reports it. */
interface Report {
  readonly orderId: string;
  readonly event: RailEvent | (OrderEvent & { readonly type: 'opened' });
  readonly source: EventSource;
  readonly opened?: Omit<Opened, 'events'> | undefined;
}

export interface Applied {
  readonly order: OrderRecord;
  readonly outcome: 'applied' | 'unchanged' | 'flagged';
  readonly flag: OrderFlag | undefined;
}

/**
 * Applies a rail's event to an order in one Postgres transaction. State, ledger, receipt and history change together or
 * not at all. The checkout that the rail `opened` is stored with them. Returns undefined if the order does not exist.
 *
 * Interleavings: two deliveries of one webhook, the reconcile loop and the request that placed the order may all bring
 * `paid` at once. Each locks the order's row first, so the second one sees `paid` and does nothing. If a process dies
 * before the commit, nothing is stored, and the rail or the loop reports the event again. If it dies after the commit,
 * the projector finds the changed balance by its version. Even if the row's state were wrong, the ledger's unique
 * references and the order's single receipt allow only one credit. Losses of two disputes may arrive at once and repeatedly. Each adds
 * its amount if the history, read under that lock, does not name it.
 *
 * An order for a wallet creates its account and key in the same transaction.
 *
 * Lock order: order, account, settings, receipt counter.
 */
export async function applyEvent(
  deps: ApplyDependencies,
  orderId: string,
  event: Report['event'],
  how: Omit<Report, 'orderId' | 'event'>,
): Promise<Applied | undefined> {
  const applied = await inTransaction(deps.pool, (client) => applyWithin(client, deps, { orderId, event, ...how }));
  if (applied !== undefined) await tell(deps, applied, { event: event.type, source: how.source });
  return applied;
}

type PostDependencies = Pick<ApplyDependencies, 'seller' | 'events' | 'now'>;

/** Does the same in the caller's transaction. The projector's loop publishes the balance. */
export async function applyWithin(
  client: pg.PoolClient,
  deps: PostDependencies,
  { orderId, event: reported, source, opened }: Report,
): Promise<Applied | undefined> {
  const at = new Date(deps.now());
  const before = await lockOrder(client, orderId);
  if (before === undefined) return undefined;
  const event = await withEarlierLosses(client, before, reported);
  const step = applyOrderEvent(before, event);
  const flag = step.effects.find((effect) => effect.type === 'flag')?.flag;
  const dispute = event.type === 'opened' ? undefined : event.dispute;
  const name = dispute === undefined ? event.type : `${event.type} ${dispute}`;
  const isNews =
    (flag !== undefined || dispute !== undefined) && (await isMissing(client, orderId, { name, flag, dispute }));
  const newFlag = isNews ? flag : undefined;
  const reference = before.reference ?? opened?.reference;
  const moved =
    step.order.status !== before.status ||
    step.order.refundedNusd !== before.refundedNusd ||
    step.order.disputedNusd !== before.disputedNusd;
  if (!moved && !isNews && reference === before.reference) {
    return { order: before, outcome: flag === undefined ? 'unchanged' : 'flagged', flag };
  }
  let { receiptNumber } = before;
  for (const effect of step.effects) {
    const number = await post(client, { deps, before, effect, at });
    receiptNumber ??= number;
  }
  const reason = event.type === 'failed' && 'reason' in event ? event.reason : undefined;
  const failure = step.order.status === 'failed' ? (before.failure ?? reason) : undefined;
  const paidAt = before.paidAt ?? (step.order.payment === undefined ? undefined : at);
  let after: OrderRecord = {
    ...before,
    ...step.order,
    reference,
    checkoutUrl: before.checkoutUrl ?? opened?.checkoutUrl,
    payTo: opened?.payTo ?? before.payTo,
    failure,
    flag: newFlag ?? flagAfter(before, step.order.payment),
    paidAt,
    receiptNumber,
  };
  await updateOrder(client, after, nextCheck(after, at));
  // An order for a wallet can be deleted as long as it has no history.
  if (after.wallet !== undefined && after.payment === undefined && after.flag === undefined)
    return { order: after, outcome: 'applied', flag };
  await client.query(
    `insert into order_events (order_id, at, source, event, from_status, to_status, flag)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [orderId, at, source, name, before.status, after.status, newFlag ?? null],
  );
  if (event.type === 'dispute_won' || event.type === 'dispute_lost')
    after = { ...after, flag: await flagAfterDispute(client, after) };
  await recordOutcome(client, { before, after, at });
  return { order: after, outcome: moved || flag === undefined ? 'applied' : 'flagged', flag };
}

/** Flags about money that was not credited. They no longer apply once a payment is credited. */
const uncredited: ReadonlySet<string> = new Set(['paid_partially', 'amount_differs', 'currency_differs']);

const flagAfter = ({ flag, payment }: OrderRecord, paid: string | undefined): OrderRecord['flag'] =>
  payment === undefined && paid !== undefined && flag !== undefined && uncredited.has(flag) ? undefined : flag;

/** The flag of an order whose dispute has ended: `disputed` while another goes on, else the last flag that still applies. */
async function flagAfterDispute(
  client: pg.PoolClient,
  { id, flag, payment }: OrderRecord,
): Promise<OrderRecord['flag']> {
  if (flag !== 'disputed') return flag;
  const { rows } = await client.query<{ flag: OrderFlag | null }>(
    `update orders o set flag = case when ${isDisputed} then 'disputed' else (
       select e.flag from order_events e where e.order_id = o.id and e.flag <> all($2::text[]) order by e.id desc limit 1
     ) end where o.id = $1 returning o.flag`,
    [id, ['disputed', ...(payment === undefined ? [] : uncredited)]],
  );
  return rows[0]?.flag ?? undefined;
}

/**
 * Adds the disputes that were lost before, because a rail tells the amount of one dispute. The order's history says which are counted.
 */
async function withEarlierLosses(
  client: pg.PoolClient,
  { id, disputedNusd }: OrderRecord,
  event: Report['event'],
): Promise<Report['event']> {
  if (event.type !== 'dispute_lost' || event.dispute === undefined) return event;
  const { rowCount } = await client.query('select 1 from order_events where order_id = $1 and event = $2', [
    id,
    `${event.type} ${event.dispute}`,
  ]);
  return rowCount === 0 ? { ...event, totalNusd: disputedNusd + event.totalNusd } : event;
}

/**
 * Whether an order's history lacks this. Each flag is raised once, whatever other flags came in between. Each dispute begins and ends
 * once. Where its beginning arrives after its end, the beginning is not missing.
 */
async function isMissing(
  client: pg.PoolClient,
  orderId: string,
  { name, flag, dispute }: { readonly name: string } & { readonly [each in 'flag' | 'dispute']: string | undefined },
): Promise<boolean> {
  const [column, value] =
    dispute === undefined ? ['flag', flag] : flag === undefined ? ['event', name] : [namedDispute, dispute];
  const { rowCount } = await client.query(`select 1 from order_events where order_id = $1 and ${column} = $2`, [
    orderId,
    value,
  ]);
  return rowCount === 0;
}

async function tell(
  { project, events }: ApplyDependencies,
  { order, outcome, flag }: Applied,
  { event, source }: { readonly event: string; readonly source: EventSource },
): Promise<void> {
  if (outcome === 'unchanged') return;
  const { id: orderId, rail, status } = order;
  events.orderMoved({ orderId, rail, event, source, status });
  if (flag !== undefined) events.orderFlagged({ orderId, rail, flag });
  if (order.payment !== undefined) await project(order.accountId).catch(() => {});
}

interface Posting {
  readonly deps: PostDependencies;
  readonly before: OrderRecord;
  readonly effect: OrderEffect;
  readonly at: Date;
}

/** Posts an effect to the ledger and issues its receipt. Returns the receipt's number. */
async function post(client: pg.PoolClient, { deps, before, effect, at }: Posting): Promise<string | undefined> {
  if (effect.type === 'flag') return undefined;
  const { accountId, id: orderId, rail } = before;
  const { amountNusd, feeNusd } = effect;
  const funding = ledgerAccounts.fundingBy(rail);
  if (effect.type === 'credit') {
    const reference = `order:${orderId}`;
    if (before.wallet !== undefined) await makeWallet(client, { ...before.wallet, accountId });
    await creditWithin(client, { accountId, amountNusd, kind: 'top_up', reference, from: funding });
    if (feeNusd > 0n) {
      const fee = { from: funding, to: ledgerAccounts.fees, amountNusd: feeNusd, kind: 'fee' } as const;
      await transferWithin(client, { ...fee, reference: `order-fee:${orderId}` });
    }
  } else {
    // The returned total only grows. Number each step by the credit notes that exist before it, so that its reference
    // is unique.
    const { rowCount } = await client.query("select 1 from receipts where order_id = $1 and kind = 'credit_note'", [
      orderId,
    ]);
    const step = (rowCount ?? 0) + 1;
    const reference = `order-refund:${orderId}:${step}`;
    if (amountNusd > 0n) {
      const debit = { accountId, amountNusd, kind: 'refund', reference, to: funding } as const;
      const { shortfallNusd } = await debitWithin(client, debit);
      if (shortfallNusd > 0n) deps.events.shortfall({ shortfallNusd });
    }
    if (feeNusd > 0n) {
      const fee = { from: ledgerAccounts.fees, to: funding, amountNusd: feeNusd, kind: 'fee' } as const;
      await transferWithin(client, { ...fee, reference: `order-fee-refund:${orderId}:${step}` });
    }
  }
  return issuePaymentReceipt(client, {
    kind: effect.type === 'credit' ? 'receipt' : 'credit_note',
    orderId,
    accountId,
    rail,
    amountNusd,
    feeNusd,
    seller: deps.seller,
    issuedAt: at,
  });
}

/** Updates only the columns that events may change. */
async function updateOrder(client: pg.PoolClient, order: OrderRecord, nextCheckAt: Date | undefined): Promise<void> {
  await client.query(
    `update orders set status = $2, refunded_nusd = $3, disputed_nusd = $4, rail_reference = $5, checkout_url = $6,
       payment = $7, failure = $8, flag = $9, paid_at = $10, next_check_at = $11, pay_to = $12 where id = $1`,
    [
      order.id,
      order.status,
      order.refundedNusd,
      order.disputedNusd,
      order.reference ?? null,
      order.checkoutUrl ?? null,
      order.payment ?? null,
      order.failure ?? null,
      order.flag ?? null,
      order.paidAt ?? null,
      nextCheckAt ?? null,
      order.payTo.length === 0 ? null : JSON.stringify(order.payTo),
    ],
  );
}
