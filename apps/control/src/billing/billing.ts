import type { Nusd } from '@sotto/money';
import { repeat, setting } from '@sotto/server';
import type pg from 'pg';
import { orError } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import type { WalletDependencies } from '../wallets/wallets.ts';
import { balanceCrossed, recordLowBalances } from './account-settings.ts';
import { topUpAccounts, topUpIsDue } from './auto-top-up/auto-top-up.ts';
import type { BillingPlan } from './billing-plan.ts';
import { serveBilling } from './billing-routes.ts';
import type { RailSettings, StripeSettings } from './billing-settings.ts';
import { orderErrors } from './orders/order-errors.ts';
import { forgetUnpaid, orderWallet } from './orders/order-wallet.ts';
import type { PlaceDependencies, Rails } from './orders/place-order.ts';
import { orderIsDue, reconcileOrders } from './orders/reconcile.ts';
import { BtcpayClient } from './rails/btcpay-client.ts';
import { BtcpayRail } from './rails/btcpay-rail.ts';
import { btcpayWebhook } from './rails/btcpay-webhook.ts';
import { testRail } from './rails/rail.ts';
import { serveWebhooks } from './webhook-routes.ts';

/** Packages, terms and rails, as read at the start. */
export interface BillingOptions {
  readonly plan: BillingPlan;
  readonly rails: RailSettings;
  /** Undefined: accounts buy balance, and get no monthly grants. */
  readonly monthlyGrantNusd?: Nusd | undefined;
}

export interface BillingDependencies extends BillingOptions {
  readonly pool: pg.Pool;
  readonly events: ControlEvents;
  readonly project: (accountId: string) => Promise<void>;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  readonly now: () => number;
}

const reconcileMs = 2_000;
const forgetMs = 60_000;
const autoTopUpMs = 2_000;
const lowBalanceMs = 6_000;

const noStripe = { cards: undefined, webhook: undefined };

/** Loads Stripe's library, which is large, only where cards are accepted. */
async function openStripe(
  settings: StripeSettings,
  { pool, origin, now }: Pick<BillingDependencies, 'pool' | 'origin' | 'now'>,
) {
  const { stripeClient } = await import('./rails/stripe-client.ts');
  const { StripeRail } = await import('./rails/stripe-rail.ts');
  const { stripeWebhook } = await import('./rails/stripe-webhook.ts');
  const stripe = stripeClient(settings);
  return {
    cards: new StripeRail({ stripe, pool, origin, now }),
    webhook: stripeWebhook(stripe, settings.webhookSecret),
  };
}

/** Assembles billing: its routes, its background tasks, and the webhooks that payment services call. */
export async function buildBilling(
  deps: BillingDependencies,
): Promise<Domain & Pick<WalletDependencies, 'orderWallet'>> {
  const { plan, rails: settings, monthlyGrantNusd, pool, events, project, origin, now } = deps;
  const { cards, webhook: stripe } = settings.stripe
    ? await openStripe(settings.stripe, { pool, origin, now })
    : noStripe;
  const btcpay = settings.btcpay && new BtcpayClient(settings.btcpay);
  const rails: Rails = {
    card: cards,
    crypto: btcpay && new BtcpayRail({ client: btcpay, origin, now }),
    test: settings.test ? testRail : undefined,
  };
  const orders: PlaceDependencies = { pool, plan, rails, events, project, now, seller: plan.file.seller };
  // On a machine of one's own, `npm start` switches it on by itself.
  if (settings.test && !setting.isLoopback(new URL(origin).hostname)) events.testRailOn();
  return {
    orderWallet: async (asked) => orError(await orderWallet(orders, asked), orderErrors),
    register({ serve }) {
      serveBilling(serve, { pool, orders, cards, monthlyGrantNusd, now });
      serveWebhooks(serve, {
        orders,
        readers: { stripe, btcpay: btcpay && settings.btcpay && btcpayWebhook(btcpay, settings.btcpay) },
      });
    },
    tasks: (failed, due) => [
      due.when({ question: orderIsDue, everyMs: reconcileMs }, () => reconcileOrders(orders), failed('orders')),
      repeat(forgetMs, () => forgetUnpaid(pool), failed('unpaid orders')),
      ...(cards === undefined
        ? []
        : [
            due.when(
              { question: topUpIsDue, everyMs: autoTopUpMs },
              () => topUpAccounts({ ...orders, cards }),
              failed('auto top-up'),
            ),
          ]),
      due.when(
        { question: balanceCrossed, everyMs: lowBalanceMs },
        () => recordLowBalances(pool, events, new Date(now())),
        failed('low balances'),
      ),
    ],
  };
}
