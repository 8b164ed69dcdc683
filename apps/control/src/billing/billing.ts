import { type Repeated, repeat } from '@sotto/http';
import type { FastifyInstance } from 'fastify';
import type pg from 'pg';
import type { ControlEvents } from '../events.ts';
import { limitByAddress } from '../limits/rate-limits.ts';
import type { Serve } from '../serve/serve.ts';
import { topUpAccounts } from './auto-top-up/auto-top-up.ts';
import type { BillingPlan } from './billing-plan.ts';
import { serveBilling } from './billing-routes.ts';
import type { RailSettings } from './billing-settings.ts';
import type { PlaceDependencies, Rails } from './orders/place-order.ts';
import { reconcileOrders } from './orders/reconcile.ts';
import { BtcpayClient } from './rails/btcpay-client.ts';
import { BtcpayRail } from './rails/btcpay-rail.ts';
import { btcpayWebhook } from './rails/btcpay-webhook.ts';
import { railCustomers } from './rails/rail-customers.ts';
import { stripeClient } from './rails/stripe-client.ts';
import { StripeRail } from './rails/stripe-rail.ts';
import { stripeWebhook } from './rails/stripe-webhook.ts';
import { testRail } from './rails/test-rail.ts';
import { noteLowBalances } from './settings/low-balance.ts';
import { registerWebhooks } from './webhook-routes.ts';

/** What is for sale and how it can be paid, as it was read at the start. */
export interface BillingOptions {
  readonly plan: BillingPlan;
  readonly rails: RailSettings;
}

export interface BillingDependencies extends BillingOptions {
  readonly pool: pg.Pool;
  readonly events: ControlEvents;
  readonly project: (accountId: string) => Promise<void>;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  readonly now: () => number;
}

export interface Billing {
  /** Serves its routes, and the webhooks that payment services call. */
  register(app: FastifyInstance, serve: Serve): void;
  /** What goes on beside the requests, for as long as there is a database. */
  tasks(failed: (task: string) => (error: unknown) => void): readonly Repeated[];
}

const reconcileMs = 1_000;
const autoTopUpMs = 2_000;
const lowBalanceMs = 5_000;
/** Deliveries of an address and minute; a bad signature costs one HMAC. */
const webhooksAMinute = 6_000;

/** Puts billing together. */
export function buildBilling({
  plan,
  rails: settings,
  pool,
  events,
  project,
  origin,
  now,
}: BillingDependencies): Billing {
  const stripe = settings.stripe && stripeClient(settings.stripe);
  const cards = stripe && new StripeRail({ stripe, customers: railCustomers(pool, 'card'), origin, now });
  const btcpay = settings.btcpay && new BtcpayClient(settings.btcpay);
  const rails: Rails = {
    card: cards,
    crypto: btcpay && new BtcpayRail({ client: btcpay, origin, now }),
    test: settings.test ? testRail : undefined,
  };
  const orders: PlaceDependencies = { pool, plan, rails, events, project, now, seller: plan.file.seller };
  if (settings.test) events.testRailOn();
  return {
    register(app, serve) {
      serveBilling(serve, { pool, orders, cards, now });
      registerWebhooks(app, {
        orders,
        readers: {
          stripe: stripe && settings.stripe && stripeWebhook(stripe, settings.stripe.webhookSecret),
          btcpay: btcpay && settings.btcpay && btcpayWebhook(btcpay, settings.btcpay),
        },
        rateLimit: limitByAddress(webhooksAMinute),
      });
    },
    tasks: (failed) => [
      repeat(reconcileMs, () => reconcileOrders(orders), failed('orders')),
      repeat(autoTopUpMs, () => topUpAccounts({ ...orders, cards }), failed('auto top-up')),
      repeat(lowBalanceMs, () => noteLowBalances(pool, events, new Date(now())), failed('low balances')),
    ],
  };
}
