import { nusdToUsd, orderTotal } from '@sotto/money';
import type { BillingCatalog } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { BillingPlan } from './billing-plan.ts';
import type { Rails } from './orders/place-order.ts';

/** `GET /v1/billing/catalog` (interface 4.5): public and cacheable; it changes with a restart only. */
export function registerBillingCatalog(app: FastifyInstance, plan: BillingPlan, rails: Rails): void {
  const catalog = catalogOf(plan, rails);
  app.get('/v1/billing/catalog', async (_request, reply) => {
    reply
      .header('cache-control', 'public, max-age=60, stale-while-revalidate=600')
      .header('access-control-allow-origin', '*');
    return catalog;
  });
}

function catalogOf({ packages, file }: BillingPlan, rails: Rails): BillingCatalog {
  return {
    currency: 'USD',
    packages: [...packages.values()].map((bought) => ({
      id: bought.id,
      amount: nusdToUsd(bought.amountNusd),
      fee: nusdToUsd(bought.feeNusd),
      total: nusdToUsd(orderTotal(bought)),
    })),
    limits: file.limits,
    fee: file.fee,
    order_lifetime_minutes: file.order_lifetime_minutes,
    terms: file.terms,
    rails: {
      card: { enabled: rails.card !== undefined },
      crypto: { enabled: rails.crypto !== undefined },
      test: { enabled: rails.test !== undefined },
    },
  };
}
