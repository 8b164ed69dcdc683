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
import { insertOrder } from './order-store.ts';

export type Rails = Readonly<Record<RailName, PaymentRail | undefined>>;

export interface PlaceDependencies extends ApplyDependencies {
  readonly plan: BillingPlan;
  readonly rails: Rails;
}

export interface PlacedOrder {
  readonly accountId: string;
  readonly packageId: string;
  readonly rail: RailName;
  readonly saveCard: boolean;
}

/**
 * Places an order of a person. Its row is there before the rail is asked: a payment can never come for an order that
 * nobody knows. Where the rail cannot be reached the order stays `created`, and the reconcile loop opens it.
 */
export async function placeOrder(deps: PlaceDependencies, asked: PlacedOrder): Promise<OrderRecord> {
  const rail = deps.rails[asked.rail];
  if (rail === undefined) throw railIsOff(deps.rails, asked.rail);
  const bought = deps.plan.packages.get(asked.packageId);
  if (bought === undefined) {
    throw new ServiceError('invalid_request', {
      message: `\`package_id\` must be ${[...deps.plan.packages.keys()].map((id) => `\`${id}\``).join(' or ')}.`,
      param: 'package_id',
    });
  }
  const order = await inTransaction(deps.pool, async (client) => {
    const made = await createOrder(client, deps, { ...asked, bought, automatic: false, card: undefined });
    if (made instanceof ServiceError) throw made;
    return made;
  });
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
