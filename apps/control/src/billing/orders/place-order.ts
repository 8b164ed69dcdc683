import { randomUUID } from 'node:crypto';
import { type RailName, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { inTransaction } from '../../database/in-transaction.ts';
import { lockAccount } from '../../ledger/post-transaction.ts';
import type { BillingPlan, Package } from '../billing-plan.ts';
import type { PaymentRail } from '../rails/rail.ts';
import type { ApplyDependencies } from './apply-event.ts';
import { openingLeaseMs } from './next-check.ts';
import { openOrder } from './open-order.ts';
import { limitError, orderedSoFar } from './order-limits.ts';
import type { OrderRecord } from './order-record.ts';
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
  /** From the page or program that asks; undefined: it asks for a new order each time. */
  readonly formId: string | undefined;
}

export interface PlacedOrder {
  readonly order: OrderRecord;
  /** False for the order that the same form has placed before. */
  readonly isNew: boolean;
}

/**
 * Places an order of a person. Its row is there before the rail is asked: a payment can never come for an order that is
 * not known here. If the rail cannot be reached, the order stays `created`, and the reconcile loop opens it.
 *
 * One form makes one order, however often and in however many processes it is sent at once: the account is locked before
 * its order is looked for, and a unique index stands behind that. One process opens the order at its rail. If that
 * process dies, its lease ends, and the first that takes the lease goes on: the loop, or the form sent again.
 */
export async function placeOrder(deps: PlaceDependencies, asked: AskedOrder): Promise<PlacedOrder> {
  const before = await findBefore(deps.pool, asked);
  if (before !== undefined) return { order: await resume(deps, before), isNew: false };
  const rail = deps.rails[asked.rail];
  if (rail === undefined) throw railIsOff(deps.rails, asked.rail);
  const bought = deps.plan.packages.get(asked.packageId);
  if (bought === undefined) {
    throw new ServiceError('invalid_request', {
      message: `\`package_id\` must be ${[...deps.plan.packages.keys()].map((id) => `\`${id}\``).join(' or ')}.`,
      param: 'package_id',
    });
  }
  const placed = await inTransaction(deps.pool, async (client): Promise<PlacedOrder> => {
    await lockAccount(client, asked.accountId);
    const meanwhile = await findBefore(client, asked);
    if (meanwhile !== undefined) return { order: meanwhile, isNew: false };
    const order = await createOrder(client, deps, { ...asked, bought, automatic: false, card: undefined });
    if (order instanceof ServiceError) throw order;
    return { order, isNew: true };
  });
  return placed.isNew ? { order: await open(deps, rail, placed.order), isNew: true } : placed;
}

/** The order that the form has made. Throws `conflict` where it was another one. */
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

/** Goes on with an order whose opener did not come to an end. */
async function resume(deps: PlaceDependencies, order: OrderRecord): Promise<OrderRecord> {
  const rail = deps.rails[order.rail];
  const now = new Date(deps.now());
  const lease = { now, until: new Date(now.getTime() + openingLeaseMs) };
  if (rail === undefined || order.status !== 'created' || !(await claimOpening(deps.pool, order.id, lease)))
    return order;
  return open(deps, rail, order);
}

async function open(deps: PlaceDependencies, rail: PaymentRail, order: OrderRecord): Promise<OrderRecord> {
  const { order: opened, ended } = await openOrder(deps, { rail, order, source: 'order' });
  if (ended === 'refused') throw new ServiceError('rail_error', { ambiguous: true });
  return opened;
}

/** Inserts an order under the account's lock, so that two of them at once cannot both pass the limits. */
export async function createOrder(
  client: pg.PoolClient,
  { plan, now }: Pick<PlaceDependencies, 'plan' | 'now'>,
  wanted: {
    readonly accountId: string;
    readonly rail: RailName;
    readonly bought: Package;
    readonly automatic: boolean;
    readonly saveCard: boolean;
    readonly card: string | undefined;
    readonly formId: string | undefined;
  },
): Promise<OrderRecord | ServiceError> {
  const { bought, accountId } = wanted;
  const account = await lockAccount(client, accountId);
  if (account === undefined) throw new Error('there is no such account');
  const createdAt = new Date(now());
  const so = await orderedSoFar(client, { accountId, balanceNusd: account.balanceNusd, now: createdAt });
  const refused = limitError(plan, bought, so);
  if (refused !== undefined) return refused;
  return insertOrder(
    client,
    {
      id: randomUUID(),
      accountId,
      rail: wanted.rail,
      packageId: bought.id,
      amountNusd: bought.amountNusd,
      feeNusd: bought.feeNusd,
      automatic: wanted.automatic,
      saveCard: wanted.saveCard,
      card: wanted.card,
      formId: wanted.formId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + plan.orderLifetimeMs),
    },
    new Date(createdAt.getTime() + openingLeaseMs),
  );
}

function railIsOff(rails: Rails, name: RailName): ServiceError {
  const enabled = Object.values(rails).flatMap((rail) => (rail === undefined ? [] : `\`${rail.name}\``));
  const others = enabled.length === 0 ? 'No way to pay is switched on.' : `These are on: ${enabled.join(', ')}.`;
  return new ServiceError('rail_disabled', {
    message: `Payment by \`${name}\` is switched off on this deployment. ${others}`,
    param: 'rail',
  });
}
