import { randomUUID } from 'node:crypto';
import type { RailName } from '@sotto/contract/control/orders';
import { type Nusd, nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
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

/**
 * Places an order for a person. Its row is stored before the rail is called, so that a payment never arrives for an
 * unknown order. If the rail cannot be reached, the order stays `created`, and the reconcile loop opens it.
 *
 * One form creates one order, even if several processes receive it several times at once. The account is locked before
 * its order is looked up, and a unique index guarantees it. One process opens the order at its rail. If that process
 * dies, its lease ends. The loop or a repeated form then takes the lease and continues.
 */
export async function placeOrder(deps: PlaceDependencies, asked: AskedOrder): Promise<PlacedOrder> {
  const before = await findBefore(deps.pool, asked);
  if (before !== undefined) return { order: await resume(deps, before), isNew: false };
  const rail = deps.rails[asked.rail];
  if (rail === undefined) throw railIsOff(deps.rails, asked.rail);
  const bought = packageOf(deps.plan, asked.packageId);
  const placed = await inTransaction(deps.pool, async (client): Promise<PlacedOrder> => {
    await lockAccount(client, asked.accountId);
    const meanwhile = await findBefore(client, asked);
    if (meanwhile !== undefined) return { order: meanwhile, isNew: false };
    const order = await createOrder(client, deps, { ...asked, bought, automatic: false, card: undefined });
    if (order instanceof ServiceError) throw order;
    return { order, isNew: true };
  });
  return placed.isNew ? { order: await openNew(deps, placed.order), isNew: true } : placed;
}

export function packageOf({ packages }: BillingPlan, packageId: string): Package {
  const bought = packages.get(packageId);
  if (bought !== undefined) return bought;
  throw new ServiceError('invalid_request', {
    message: `\`package_id\` must be ${[...packages.keys()].map((id) => `\`${id}\``).join(' or ')}.`,
    param: 'package_id',
  });
}

/** Returns the order that the form has created. Throws `conflict` if it asked for something else. */
async function findBefore(db: pg.Pool | pg.PoolClient, asked: AskedOrder): Promise<OrderRecord | undefined> {
  const { accountId, formId } = asked;
  const order = formId === undefined ? undefined : await findFormsOrder(db, accountId, formId);
  if (order === undefined) return undefined;
  const { packageId, rail, saveCard } = order;
  if (packageId === asked.packageId && rail === asked.rail && saveCard === asked.saveCard) return order;
  throw new ServiceError('conflict', {
    message: `\`form_id\` belongs to order \`${order.id}\`, which asks for something else. Make a new one for each order.`,
    param: 'form_id',
  });
}

/** Continues an order whose opener did not finish. */
export async function resume(deps: PlaceDependencies, order: OrderRecord): Promise<OrderRecord> {
  const now = new Date(deps.now());
  const lease = { now, until: new Date(now.getTime() + openingLeaseMs) };
  if (order.status !== 'created' || !(await claimOpening(deps.pool, order.id, lease))) return order;
  return openNew(deps, order);
}

/** Opens an order that this process has the lease of. */
export async function openNew(deps: PlaceDependencies, order: OrderRecord): Promise<OrderRecord> {
  const rail = deps.rails[order.rail];
  if (rail === undefined) return order;
  const { order: opened, isRefused } = await openOrder(deps, { rail, order, source: 'order' });
  if (isRefused) throw new ServiceError('rail_error', { mustNotRetry: true });
  return opened;
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
): Promise<OrderRecord | ServiceError> {
  const { bought, accountId } = requested;
  const account = await lockAccount(client, accountId);
  if (account === undefined) throw new Error('there is no such account');
  const deleted = await client.query('select 1 from accounts where id = $1 and deleted_at is not null', [accountId]);
  // Its owner deleted it while this order waited for the lock.
  if (deleted.rowCount === 1) return new ServiceError('conflict', { message: 'This account was deleted.' });
  const so = await orderedSoFar(client, { accountId, balanceNusd: account.balanceNusd, now: new Date(deps.now()) });
  return limitError(deps.plan, bought, so) ?? insertNew(client, deps, requested);
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

export function railIsOff(rails: Rails, name: RailName): ServiceError {
  const enabled = Object.values(rails).flatMap((rail) => (rail === undefined ? [] : `\`${rail.name}\``));
  const others = enabled.length === 0 ? 'No way to pay is switched on.' : `These are on: ${enabled.join(', ')}.`;
  return new ServiceError('rail_disabled', {
    message: `Payment by \`${name}\` is switched off on this deployment. ${others}`,
    param: 'rail',
  });
}

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

/** Returns the error for a package that the account may not order now, or undefined if it may. */
function limitError(
  { limits }: Pick<BillingPlan, 'limits'>,
  { amountNusd }: Package,
  so: OrderedSoFar,
): ServiceError | undefined {
  const refused = (message: string) => new ServiceError('top_up_limit', { message, param: 'package_id' });
  if (so.openOrders >= limits.maxOpenOrders) {
    return refused(`There are ${so.openOrders} open orders already. Pay one of them, or wait until one expires.`);
  }
  if (so.dayNusd + amountNusd > limits.maxPerDayNusd) {
    return refused(`At most ${nusdToUsd(limits.maxPerDayNusd)} USD can be ordered in 24 hours.`);
  }
  if (so.balanceNusd + so.openNusd + amountNusd > limits.maxBalanceNusd) {
    return refused(`A balance, with open orders, can be topped up to at most ${nusdToUsd(limits.maxBalanceNusd)} USD.`);
  }
  return undefined;
}
