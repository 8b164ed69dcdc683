import { billingContracts } from '@sotto/contract/control';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { Serve } from '../serve/serve.ts';
import { unknown } from '../serve/unknown.ts';
import { catalogOf } from './billing-catalog.ts';
import { toOrderAnswer } from './orders/order-record.ts';
import { findOrder, listOrders } from './orders/order-store.ts';
import { type PlaceDependencies, placeOrder } from './orders/place-order.ts';
import { hurryCheck } from './orders/reconcile.ts';
import type { SavedCards } from './rails/rail.ts';
import { findReceipt, listReceipts } from './receipts/receipt-store.ts';
import { sendReceipt } from './receipts/send-receipt.ts';
import { readSettings, writeSettings } from './settings/settings-store.ts';
import { readWanted, requireSavedCard } from './settings/wanted-settings.ts';

export interface BillingRoutesDependencies {
  readonly pool: pg.Pool;
  readonly orders: PlaceDependencies;
  readonly cards: SavedCards | undefined;
  readonly now: () => number;
}

/** Serves what is for sale and, by session, the orders, receipts and settings of an account. */
export function serveBilling(serve: Serve, { pool, orders, cards, now }: BillingRoutesDependencies): void {
  const { plan, rails } = orders;
  // It changes with a restart only.
  const catalog = catalogOf(plan, rails);
  const at = (): Date => new Date(now());
  serve(billingContracts)({
    'GET /v1/billing/catalog': async () => catalog,

    'POST /v1/billing/orders': async ({ caller: { accountId }, body, reply }) => {
      if (body.save_card === true && body.rail !== 'card') {
        throw new ServiceError('invalid_request', {
          message: '`save_card` goes with the rail `card` only.',
          param: 'save_card',
        });
      }
      const { order, isNew } = await placeOrder(orders, {
        accountId,
        packageId: body.package_id,
        rail: body.rail,
        saveCard: body.save_card ?? false,
        formId: body.form_id,
      });
      reply.code(isNew ? 201 : 200).header('location', `/v1/billing/orders/${order.id}`);
      return toOrderAnswer(order);
    },

    'GET /v1/billing/orders': ({ caller, query }) => listOrders(pool, caller.accountId, query),

    'GET /v1/billing/orders/{orderId}': async ({ caller, params }) => {
      const order = await findOrder(pool, caller.accountId, params.orderId);
      if (order === undefined) throw unknown('order');
      if (order.status === 'pending') await hurryCheck(pool, order.id, at());
      return toOrderAnswer(order);
    },

    'GET /v1/billing/receipts': ({ caller, query }) => listReceipts(pool, caller.accountId, query),

    'GET /v1/billing/receipts/{receiptNumber}': async ({ caller, params, query, request, reply }) => {
      const receipt = await findReceipt(pool, caller.accountId, params.receiptNumber);
      if (receipt === undefined) throw unknown('receipt');
      return sendReceipt(reply, receipt, { format: query.format, accept: request.headers.accept });
    },

    'GET /v1/billing/settings': ({ caller }) => readSettings(pool, caller.accountId, at()),

    'PUT /v1/billing/settings': async ({ caller: { accountId }, body }) => {
      const wanted = readWanted(plan, body);
      if (wanted.auto?.enabled === true) await requireSavedCard(cards, accountId);
      await writeSettings(pool, accountId, wanted);
      return readSettings(pool, accountId, at());
    },
  });
}
