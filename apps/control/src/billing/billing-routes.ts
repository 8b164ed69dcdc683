import { type BillingCatalog, billingContracts } from '@sotto/contract/control/billing';
import { orderContracts } from '@sotto/contract/control/orders';
import { nusdToUsd, orderTotal } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import { orError } from '../database/refused.ts';
import { notFound } from '../serve/not-found.ts';
import type { Serve } from '../serve/serve.ts';
import { readSettings, writeSettings } from './account-settings.ts';
import type { BillingPlan } from './billing-plan.ts';
import { type AccountGrantDependencies, readMonthlyGrant } from './monthly-grants/account-grant.ts';
import { orderErrors } from './orders/order-errors.ts';
import { toOrderAnswer } from './orders/order-record.ts';
import { findOrder, listOrders } from './orders/order-store.ts';
import { type PlaceDependencies, placeOrder, type Rails } from './orders/place-order.ts';
import { hurryCheck } from './orders/reconcile.ts';
import { findPaymentReceipt, listPaymentReceipts } from './payment-receipts/payment-receipt-store.ts';
import { sendPaymentReceipt } from './payment-receipts/send-payment-receipt.ts';
import type { SavedCards } from './rails/rail.ts';
import { readRequestedSettings, requireSavedCard } from './requested-settings.ts';

export interface BillingRoutesDependencies extends AccountGrantDependencies {
  readonly orders: PlaceDependencies;
  readonly cards: SavedCards | undefined;
}

/** Serves the catalog and, by session, the grant, orders, receipts and settings of an account. */
export function serveBilling(
  serve: Serve,
  { pool, orders, cards, monthlyGrantNusd, now }: BillingRoutesDependencies,
): void {
  const { plan, rails } = orders;
  // The catalog changes only with a restart.
  const isPrepaid = monthlyGrantNusd === undefined;
  const catalog = catalogOf(plan, rails, isPrepaid ? 'prepaid' : 'none');
  const at = (): Date => new Date(now());
  serve(billingContracts)({
    'GET /v1/billing/catalog': async () => catalog,

    'GET /v1/billing/grant': ({ caller }) => readMonthlyGrant({ pool, monthlyGrantNusd, now }, caller.accountId),

    'GET /v1/billing/settings': ({ caller }) => readSettings(pool, caller.accountId, at()),

    'PUT /v1/billing/settings': async ({ caller: { accountId }, body }) => {
      if (!isPrepaid && body.auto_top_up != null) throw nothingIsSold();
      const requested = readRequestedSettings(plan, body);
      if (requested.auto?.enabled === true) await requireSavedCard(cards, accountId);
      orError(await writeSettings(pool, accountId, requested), {
        no_account: () => new ServiceError('unauthenticated'),
      });
      return readSettings(pool, accountId, at());
    },
  });
  serve(orderContracts)({
    'POST /v1/billing/orders': async ({ caller: { accountId }, body, reply }) => {
      if (!isPrepaid) throw nothingIsSold();
      if (body.save_card === true && body.rail !== 'card') {
        throw new ServiceError('invalid_request', {
          message: '`save_card` goes with the rail `card` only.',
          param: 'save_card',
        });
      }
      const placed = await placeOrder(orders, {
        accountId,
        packageId: body.package_id,
        rail: body.rail,
        saveCard: body.save_card ?? false,
        formId: body.form_id,
      });
      const { order, isNew } = orError(placed, orderErrors);
      reply.code(isNew ? 201 : 200).header('location', `/v1/billing/orders/${order.id}`);
      return toOrderAnswer(order);
    },

    'GET /v1/billing/orders': ({ caller, query }) => listOrders(pool, caller.accountId, query),

    'GET /v1/billing/orders/{orderId}': async ({ caller, params }) => {
      const order = await findOrder(pool, caller.accountId, params.orderId);
      if (order === undefined) throw notFound('order');
      if (order.status === 'pending') await hurryCheck(pool, order.id, at());
      return toOrderAnswer(order);
    },

    'GET /v1/billing/receipts': ({ caller, query }) => listPaymentReceipts(pool, caller.accountId, query),

    'GET /v1/billing/receipts/{receiptNumber}': async ({ caller, params, query, reply }) => {
      const receipt = await findPaymentReceipt(pool, caller.accountId, params.receiptNumber);
      if (receipt === undefined) throw notFound('receipt');
      return sendPaymentReceipt(reply, receipt, query.format);
    },
  });
}

const nothingIsSold = (): ServiceError =>
  new ServiceError('rail_disabled', {
    message: 'This deployment takes no payments: accounts get a monthly grant. Ask its operator for more balance.',
  });

/** Returns the packages for sale and the enabled ways to pay. Without payments, nothing is for sale. */
function catalogOf({ packages, file }: BillingPlan, rails: Rails, mode: BillingCatalog['mode']): BillingCatalog {
  const sold = mode === 'none' ? [] : [...packages.values()];
  return {
    mode,
    currency: 'USD',
    packages: sold.map((bought) => ({
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
