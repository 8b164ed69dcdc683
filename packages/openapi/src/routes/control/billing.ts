import { billingPageQuerySchema, receiptQuerySchema } from '@sotto/wire';
import { anywhere, ofBodies, ofSessions } from '../errors.ts';
import { json, type RouteDescription } from '../route.ts';

const tag = 'Billing';
const pages = {
  schema: billingPageQuerySchema,
  notes: { limit: 'Entries of a page.', cursor: '`next_cursor` of the page before.' },
};

const webhook = (service: string, rail: string, header: string): RouteDescription => ({
  method: 'post',
  path: `/v1/billing/webhooks/${service.toLowerCase().replace(/ .*/, '')}`,
  operationId: `receive${service.replace(/\W/g, '')}Event`,
  tag,
  summary: `Deliveries of ${service}`,
  description: `For ${service} alone, signed with the secret of the webhook. Whatever carries a good signature is answered 200 and an explanation.`,
  credentials: [],
  headers: { [header]: { description: `The signature of ${service}.`, required: true, type: 'string' } },
  body: { content: [json({ type: 'object', description: `An event, as ${service} writes it.` })] },
  answers: [
    {
      status: 200,
      description: `What the event did to the order it is about (rail \`${rail}\`).`,
      content: [json('WebhookOutcome')],
    },
  ],
  errors: [...anywhere, ...ofBodies, 'rail_disabled'],
});

export const billingRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/billing/catalog',
    operationId: 'getBillingCatalog',
    tag,
    summary: 'Packages, fees, limits, terms',
    credentials: [],
    answers: [
      {
        status: 200,
        description: 'What may be bought, and which ways to pay are on.',
        content: [json('BillingCatalog')],
      },
    ],
    errors: [...anywhere],
  },
  {
    method: 'post',
    path: '/v1/billing/orders',
    operationId: 'createOrder',
    tag,
    summary: 'Order a package',
    credentials: ['session'],
    body: { content: [json('CreateOrder', { package_id: 'usd-25', rail: 'test' })] },
    answers: [
      {
        status: 201,
        description: 'The order. It is paid at `checkout_url`, where there is one.',
        content: [json('Order')],
        headers: ['location'],
      },
    ],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'top_up_limit', 'rail_disabled', 'rail_error'],
  },
  {
    method: 'get',
    path: '/v1/billing/orders',
    operationId: 'listOrders',
    tag,
    summary: 'Orders',
    credentials: ['session'],
    query: pages,
    answers: [{ status: 200, description: 'A page of orders, newest first.', content: [json('OrderPage')] }],
    errors: [...anywhere, ...ofSessions, 'invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/billing/orders/{orderId}',
    operationId: 'getOrder',
    tag,
    summary: 'One order',
    description: 'To be polled while it is `pending`.',
    credentials: ['session'],
    pathParameters: { orderId: 'The id of an order of this account.' },
    answers: [{ status: 200, description: 'The order.', content: [json('Order')] }],
    errors: [...anywhere, ...ofSessions, 'not_found'],
  },
  {
    method: 'get',
    path: '/v1/billing/receipts',
    operationId: 'listReceipts',
    tag,
    summary: 'Receipts and credit notes',
    credentials: ['session'],
    query: pages,
    answers: [{ status: 200, description: 'A page of receipts, newest first.', content: [json('ReceiptPage')] }],
    errors: [...anywhere, ...ofSessions, 'invalid_request'],
  },
  {
    method: 'get',
    path: '/v1/billing/receipts/{receiptNumber}',
    operationId: 'getReceipt',
    tag,
    summary: 'One receipt',
    credentials: ['session'],
    pathParameters: { receiptNumber: 'The number of a receipt of this account.' },
    query: {
      schema: receiptQuerySchema,
      notes: { format: 'Without it the header `accept` decides; JSON where that does not.' },
    },
    answers: [
      {
        status: 200,
        description: 'The receipt, as JSON, as a page to print or as a PDF.',
        content: [
          json('Receipt'),
          { mediaType: 'text/html', schema: { type: 'string' } },
          { mediaType: 'application/pdf', schema: { type: 'string', contentMediaType: 'application/pdf' } },
        ],
      },
    ],
    errors: [...anywhere, ...ofSessions, 'invalid_request', 'not_found'],
  },
  {
    method: 'get',
    path: '/v1/billing/settings',
    operationId: 'getBillingSettings',
    tag,
    summary: 'Low-balance notice and auto top-up',
    credentials: ['session'],
    answers: [
      { status: 200, description: 'What is set, and how things stand.', content: [json('BillingSettingsState')] },
    ],
    errors: [...anywhere, ...ofSessions],
  },
  {
    method: 'put',
    path: '/v1/billing/settings',
    operationId: 'putBillingSettings',
    tag,
    summary: 'Replace these settings',
    description: 'Auto top-up needs a card saved by an order with `save_card`.',
    credentials: ['session'],
    body: { content: [json('BillingSettings', { low_balance_usd: 5, auto_top_up: null })] },
    answers: [{ status: 200, description: 'What is set now.', content: [json('BillingSettingsState')] }],
    errors: [...anywhere, ...ofBodies, ...ofSessions, 'conflict', 'rail_disabled'],
  },
  webhook('Stripe', 'card', 'stripe-signature'),
  webhook('BTCPay Server', 'crypto', 'btcpay-sig'),
];
