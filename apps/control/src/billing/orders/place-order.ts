import { randomUUID } from 'node:crypto';
import type { RailName } from '@sotto/contract/control/orders';
import type { Nusd } from '@sotto/money';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { Refused, refused } from '../../database/refused.ts';
import { lockAccount } from '../../ledger/post-transaction.ts';
import type { BillingPlan, Package } from '../billing-plan.ts';
import { type PaymentRail, RailError, RailUnavailableError } from '../rails/rail.ts';
import { type ApplyDependencies, applyEvent, type EventSource } from './apply-event.ts';
import { type OrderRecord, openingLeaseMs } from './order-record.ts';
import { claimOpening, findFormsOrder, insertOrder } from './order-store.ts';

export type Rails = Readonly<Record<RailName, PaymentRail | undefined>>;

export interface PlaceDependencies extends ApplyDependencies {
  readonly plan: BillingPlan;
  readonly rails: Rails;
}

export interface AskedOrder {
  readonly accountId: string;
  readonly packageId: string;
  readonly rail: RailName;
  readonly saveCard: boolean;
  /** Chosen by the page or program that orders. Undefined: each request creates a new order. */
  readonly formId: string | undefined;
}

export interface PlacedOrder {
  readonly order: OrderRecord;
  /** False if the same form placed this order before. */
  readonly isNew: boolean;
}

export interface NoPackage {
  readonly why: 'no_package';
  /** The ids of the packages for sale. */
  readonly packages: readonly string[];
}

export interface RailOff {
  readonly why: 'rail_off';
  readonly rail: RailName;
  readonly enabled: readonly RailName[];
}

/** The rail was asked, and refuses the order. */
export interface RailRefused {
  readonly why: 'rail_refused';
}

/** A limit of the deployment: of open orders, or of the amount in 24 hours or of a balance. */
export type OverLimit =
  | { readonly why: 'open_orders'; readonly count: number }
  | { readonly why: 'a_day'; readonly mostNusd: Nusd }
  | { readonly why: 'balance'; readonly mostNusd: Nusd };

/** `other_order`: the form has placed an order that asks for something else. */
export type NotPlaced =
  | NoPackage
  | RailOff
  | RailRefused
  | NotCreated
  | { readonly why: 'other_order'; readonly orderId: string };

/** `deleted`: its owner deleted the account while the order waited for its lock. */
type NotCreated = OverLimit | { readonly why: 'deleted' };

/**
 * Places an order for a person. Its row is stored before the rail is called, so that a payment never arrives for an
 * unknown order. If the rail cannot be reached, the order stays `created`, and the reconcile loop opens it.
 *
 * One form creates one order, even if several processes receive it several times at once. The account is locked before
 * its order is looked up, and a unique index guarantees it. One process opens the order at its rail. If that process
 * dies, its lease ends. The loop or a repeated form then takes the lease and continues.
 */
export async function placeOrder(
  deps: PlaceDependencies,
  asked: AskedOrder,
): Promise<PlacedOrder | Refused<NotPlaced>> {
  const before = await findBefore(deps.pool, asked);
  if (before instanceof Refused) return before;
  if (before !== undefined) return placedAs(await resume(deps, before), false);
  const rail = deps.rails[asked.rail];
  if (rail === undefined) return railIsOff(deps.rails, asked.rail);
  const bought = packageOf(deps.plan, asked.packageId);
  if (bought instanceof Refused) return bought;
  const placed = await inTransaction(deps.pool, async (client): Promise<PlacedOrder | Refused<NotPlaced>> => {
    await lockAccount(client, asked.accountId);
    const meanwhile = await findBefore(client, asked);
    if (meanwhile instanceof Refused) return meanwhile;
    if (meanwhile !== undefined) return { order: meanwhile, isNew: false };
    const order = await createOrder(client, deps, { ...asked, bought, automatic: false, card: undefined });
    return placedAs(order, true);
  });
  if (placed instanceof Refused || !placed.isNew) return placed;
  return placedAs(await openNew(deps, placed.order), true);
}

const placedAs = <R extends Refused<NotPlaced>>(order: OrderRecord | R, isNew: boolean): PlacedOrder | R =>
  order instanceof Refused ? order : { order, isNew };

export const packageOf = ({ packages }: BillingPlan, packageId: string): Package | Refused<NoPackage> =>
  packages.get(packageId) ?? new Refused({ why: 'no_package', packages: [...packages.keys()] });

/** Returns the order that the form has created. */
async function findBefore(
  db: pg.Pool | pg.PoolClient,
  asked: AskedOrder,
): Promise<OrderRecord | Refused<{ readonly why: 'other_order'; readonly orderId: string }> | undefined> {
  const { accountId, formId } = asked;
  const order = formId === undefined ? undefined : await findFormsOrder(db, accountId, formId);
  if (order === undefined) return undefined;
  const { packageId, rail, saveCard } = order;
  if (packageId === asked.packageId && rail === asked.rail && saveCard === asked.saveCard) return order;
  return new Refused({ why: 'other_order', orderId: order.id });
}

/** Continues an order whose opener did not finish. */
export async function resume(deps: PlaceDependencies, order: OrderRecord): Promise<OrderRecord | Refused<RailRefused>> {
  const now = new Date(deps.now());
  const lease = { now, until: new Date(now.getTime() + openingLeaseMs) };
  if (order.status !== 'created' || !(await claimOpening(deps.pool, order.id, lease))) return order;
  return openNew(deps, order);
}

/** Opens an order that this process has the lease of. */
export async function openNew(
  deps: PlaceDependencies,
  order: OrderRecord,
): Promise<OrderRecord | Refused<RailRefused>> {
  const rail = deps.rails[order.rail];
  if (rail === undefined) return order;
  const { order: opened, isRefused } = await openOrder(deps, { rail, order, source: 'order' });
  return isRefused ? refused('rail_refused') : opened;
}

interface NewOrder {
  readonly accountId: string;
  readonly rail: RailName;
  readonly bought: Package;
  readonly automatic: boolean;
  readonly saveCard: boolean;
  readonly card: string | undefined;
  readonly formId: string | undefined;
  readonly wallet?: OrderRecord['wallet'];
}

/** Inserts an order under the account's lock, so that two simultaneous orders cannot both pass the limits. */
export async function createOrder(
  client: pg.PoolClient,
  deps: Pick<PlaceDependencies, 'plan' | 'now'>,
  requested: NewOrder,
): Promise<OrderRecord | Refused<NotCreated>> {
  const { bought, accountId } = requested;
  const account = await lockAccount(client, accountId);
  if (account === undefined) throw new Error('there is no such account');
  const deleted = await client.query('select 1 from accounts where id = $1 and deleted_at is not null', [accountId]);
  if (deleted.rowCount === 1) return refused('deleted');
  const so = await orderedSoFar(client, { accountId, balanceNusd: account.balanceNusd, now: new Date(deps.now()) });
  return overLimit(deps.plan, bought, so) ?? insertNew(client, deps, requested);
}

/** Inserts an order, with the lease of this process to open it. */
export async function insertNew(
  client: pg.PoolClient,
  { plan, now }: Pick<PlaceDependencies, 'plan' | 'now'>,
  { bought, ...requested }: NewOrder,
): Promise<OrderRecord> {
  const createdAt = new Date(now());
  return insertOrder(
    client,
    {
      ...requested,
      id: randomUUID(),
      packageId: bought.id,
      amountNusd: bought.amountNusd,
      feeNusd: bought.feeNusd,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + plan.orderLifetimeMs),
    },
    new Date(createdAt.getTime() + openingLeaseMs),
  );
}

export const railIsOff = (rails: Rails, rail: RailName): Refused<RailOff> =>
  new Refused({ why: 'rail_off', rail, enabled: Object.values(rails).flatMap((on) => on?.name ?? []) });

/** The result of opening. A refusal is final. If the rail was unavailable, a later attempt may succeed. */
interface Opening {
  readonly order: OrderRecord;
  readonly isRefused: boolean;
}

/**
 * Opens a created order at its rail. Safe to repeat at any time: the rail finds the payment that it has opened before.
 * The caller must hold the order's lease (`next_check_at`), because not every rail has idempotency keys.
 */
export async function openOrder(
  deps: ApplyDependencies,
  { rail, order, source }: { readonly rail: PaymentRail; readonly order: OrderRecord; readonly source: EventSource },
): Promise<Opening> {
  try {
    const opened = await rail.open(order);
    let current = await applyEvent(deps, order.id, { type: 'opened' }, { source, opened });
    for (const event of opened.events) current = await applyEvent(deps, order.id, event, { source });
    return { order: current?.order ?? order, isRefused: false };
  } catch (error) {
    if (!(error instanceof RailError)) throw error;
    const { code } = error;
    deps.events.railFailed({ rail: rail.name, action: 'open', code });
    if (error instanceof RailUnavailableError) return { order, isRefused: false };
    const reason = code === 'no_saved_card' || code === 'too_late' ? code : 'refused';
    const failed = await applyEvent(deps, order.id, { type: 'failed', reason }, { source });
    return { order: failed?.order ?? order, isRefused: true };
  }
}

const dayMs = 24 * 60 * 60 * 1000;

/** The account's balance and earlier orders, read under its lock when it orders. */
interface OrderedSoFar {
  readonly balanceNusd: Nusd;
  readonly openOrders: number;
  readonly openNusd: Nusd;
  /** Amount of the orders from the last 24 hours that are paid or open. */
  readonly dayNusd: Nusd;
}

async function orderedSoFar(
  client: pg.PoolClient,
  { accountId, balanceNusd, now }: { readonly accountId: string; readonly balanceNusd: Nusd; readonly now: Date },
): Promise<OrderedSoFar> {
  const { rows } = await client.query<{ open_orders: string; open_nusd: string; day_nusd: string }>(
    `select count(*) filter (where status in ('created', 'pending')) as open_orders,
       coalesce(sum(amount_nusd) filter (where status in ('created', 'pending')), 0) as open_nusd,
       coalesce(sum(amount_nusd) filter (where status in ('created', 'pending', 'paid') and created_at > $2), 0) as day_nusd
     from orders where account_id = $1 and (status in ('created', 'pending') or created_at > $2)`,
    [accountId, new Date(now.getTime() - dayMs)],
  );
  const [row] = rows;
  return {
    balanceNusd,
    openOrders: Number(row?.open_orders ?? 0),
    openNusd: BigInt(row?.open_nusd ?? 0),
    dayNusd: BigInt(row?.day_nusd ?? 0),
  };
}

/** Returns the limit that keeps the account from ordering a package now. */
function overLimit(
  { limits }: Pick<BillingPlan, 'limits'>,
  { amountNusd }: Package,
  so: OrderedSoFar,
): Refused<OverLimit> | undefined {
  if (so.openOrders >= limits.maxOpenOrders) return new Refused({ why: 'open_orders', count: so.openOrders });
  if (so.dayNusd + amountNusd > limits.maxPerDayNusd)
    return new Refused({ why: 'a_day', mostNusd: limits.maxPerDayNusd });
  if (so.balanceNusd + so.openNusd + amountNusd > limits.maxBalanceNusd)
    return new Refused({ why: 'balance', mostNusd: limits.maxBalanceNusd });
  return undefined;
}
