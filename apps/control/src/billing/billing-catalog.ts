import { nusdToUsd, orderTotal } from '@sotto/money';
import type { BillingCatalog } from '@sotto/wire';
import type { BillingPlan } from './billing-plan.ts';
import type { Rails } from './orders/place-order.ts';

/** What is for sale, and which ways to pay are on. */
export function catalogOf({ packages, file }: BillingPlan, rails: Rails): BillingCatalog {
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
