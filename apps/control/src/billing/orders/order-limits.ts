import { type Nusd, nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { BillingPlan, Package } from '../billing-plan.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** What is known of an account when it orders; read under its lock. */
export interface OrderedSoFar {
  readonly balanceNusd: Nusd;
  readonly openOrders: number;
  readonly openNusd: Nusd;
  /** Credited by top-ups of the last 24 hours, or to be credited by open ones. */
  readonly dayNusd: Nusd;
}

export async function orderedSoFar(
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

/** The error for a package that an account may not order now; undefined where it may. */
export function limitError(
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
