import * as wire from '@sotto/wire';
import { webhookOutcomeSchema } from '@sotto/wire';
import { type Contract, contracts } from '../contract.ts';
import { anywhere, ofBodies } from '../errors.ts';
import { json, pageNotes } from '../route.ts';

/** Packages, orders, receipts and settings. */
export const billingContracts = contracts({
  'GET /v1/billing/catalog': {
    operationId: 'getBillingCatalog',
    summary: 'Get packages, fees, limits and terms',
    credentials: [],
    cache: 'public',
    answer: wire.billingCatalogSchema,
    returns: 'The packages for sale and the available ways to pay.',
  },
  'GET /v1/billing/grant': {
    operationId: 'getMonthlyGrant',
    summary: "Get this month's grant",
    description: 'Deployments with `BILLING` `none` give each account a monthly grant.',
    credentials: ['session'],
    answer: wire.monthlyGrantAnswerSchema,
    returns: 'The grant of this month (UTC). All amounts are 0 without one.',
  },
  'POST /v1/billing/orders': {
    operationId: 'createOrder',
    summary: 'Order a package',
    description:
      'Send a new `form_id` with each order, and repeat it when you retry, for example after a timeout. An order with the same `form_id` is placed once, even if requests arrive at the same time. A different order with the same `form_id` gets 409 `conflict`. While the status is `created`, Sotto is setting up the payment: poll the order until it has a `checkout_url`.',
    credentials: ['session'],
    body: wire.createOrderSchema,
    status: 201,
    answer: wire.orderAnswerSchema,
    returns: 'The order. Pay it at `checkout_url`, if present.',
    answerHeaders: ['location'],
    otherAnswers: [
      {
        status: 200,
        description: 'The existing order with this `form_id`.',
        content: [{ mediaType: 'application/json', schema: wire.orderAnswerSchema }],
        headers: ['location'],
      },
    ],
    examples: { body: { package_id: 'usd-25', rail: 'test', form_id: 'kX3vQ9mZ2sLw8RtB' } },
    errors: ['conflict', 'top_up_limit', 'rail_disabled', 'rail_error'],
  },
  'GET /v1/billing/orders': {
    operationId: 'listOrders',
    summary: 'List orders',
    credentials: ['session'],
    query: { schema: wire.billingPageQuerySchema, notes: pageNotes },
    answer: wire.orderPageSchema,
    returns: 'A page of orders, newest first.',
  },
  'GET /v1/billing/orders/{orderId}': {
    operationId: 'getOrder',
    summary: 'Get an order',
    description: 'Poll this while the order is `pending`.',
    credentials: ['session'],
    params: { orderId: { note: 'The id of an order of this account.', id: 'order' } },
    answer: wire.orderAnswerSchema,
    returns: 'The order.',
  },
  'GET /v1/billing/receipts': {
    operationId: 'listReceipts',
    summary: 'List receipts and credit notes',
    credentials: ['session'],
    query: { schema: wire.billingPageQuerySchema, notes: pageNotes },
    answer: wire.receiptPageSchema,
    returns: 'A page of receipts, newest first.',
  },
  'GET /v1/billing/receipts/{receiptNumber}': {
    operationId: 'getReceipt',
    summary: 'Get a receipt',
    credentials: ['session'],
    params: { receiptNumber: { note: 'The number of a receipt of this account.', maxLength: 64 } },
    query: {
      schema: wire.receiptQuerySchema,
      notes: { format: 'Overrides the header `accept`. The default is JSON.' },
    },
    answer: wire.receiptAnswerSchema,
    returns: 'The receipt as JSON, as a printable page or as a PDF.',
    otherContent: [
      { mediaType: 'text/html', schema: { type: 'string' } },
      { mediaType: 'application/pdf', schema: { type: 'string', contentMediaType: 'application/pdf' } },
    ],
    errors: ['not_found'],
  },
  'GET /v1/billing/settings': {
    operationId: 'getBillingSettings',
    summary: 'Get the settings of receipts, low-balance notice and auto top-up',
    credentials: ['session'],
    answer: wire.billingSettingsStateSchema,
    returns: 'The settings and the current state.',
  },
  'PUT /v1/billing/settings': {
    operationId: 'putBillingSettings',
    summary: 'Replace the settings of receipts, low-balance notice and auto top-up',
    description:
      'Auto top-up needs a card that an order with `save_card` saved. A field that is left out stays as it is; without `receipt_details`, both others are required.',
    credentials: ['session'],
    body: wire.billingSettingsSchema,
    answer: wire.billingSettingsStateSchema,
    returns: 'The new settings.',
    examples: { body: { low_balance_usd: 5, auto_top_up: null } },
    errors: ['conflict', 'rail_disabled'],
  },
});

const webhook = (service: string, rail: string, header: string) =>
  ({
    operationId: `receive${service.replace(/\W/g, '')}Event`,
    summary: `Receive an event of ${service}`,
    description: `For ${service} only. Every event with a valid signature gets 200 and an explanation.`,
    credentials: [],
    headers: { [header]: { description: `Signature by ${service}.`, required: true, type: 'string' } },
    otherBodies: [json({ type: 'object', description: `An event in the format of ${service}.` })],
    returns: `The effect of the event on its order (rail \`${rail}\`).`,
    answer: webhookOutcomeSchema,
    errors: [...anywhere, ...ofBodies, 'rail_disabled'],
  }) satisfies Contract;

/** The routes that payment services call. */
export const webhookContracts = contracts({
  'POST /v1/billing/webhooks/stripe': webhook('Stripe', 'card', 'stripe-signature'),
  'POST /v1/billing/webhooks/btcpay': webhook('BTCPay Server', 'crypto', 'btcpay-sig'),
});
