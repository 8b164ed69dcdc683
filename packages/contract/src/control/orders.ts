import { omittable } from '@sotto/wire';
import * as z from 'zod';
import { contractsWith } from '../contract.ts';
import { instant, usd } from '../fields.ts';
import { pageFields, pageOf } from '../lists.ts';
import { railNames } from './rail-names.ts';

/** A way to pay: `card` through Stripe, `crypto` through BTCPay Server, or `test` without money. */
export const railName = z.enum(railNames);
export type RailName = z.infer<typeof railName>;

const orderStatusSchema = z.enum(['created', 'pending', 'paid', 'failed', 'expired', 'refunded']);

/** A purchase order as its account sees it. The account is credited `amount` and pays `total`. */
export const orderAnswerSchema = z.strictObject({
  id: z.uuid(),
  status: orderStatusSchema,
  package_id: z.string(),
  rail: railName,
  currency: z.literal('USD'),
  amount: usd.describe('The amount that is added to the balance.'),
  fee: usd,
  total: usd.describe('The price: amount and fee.'),
  /** Part of the total that was refunded so far. */
  refunded: usd,
  /** Whether auto top-up placed the order. */
  automatic: z.boolean(),
  /** Where the customer pays. Present while the order can be paid. */
  checkout_url: z.string().optional(),
  /** Why the order failed or is under review: a code and a sentence. */
  problem: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  receipt_number: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  paid_at: instant.nullable(),
});
export type OrderAnswer = z.infer<typeof orderAnswerSchema>;

export const orderPageSchema = pageOf(orderAnswerSchema);
export type OrderPage = z.infer<typeof orderPageSchema>;

/** A receipt as it was issued. A credit note states the refund of the receipt that it corrects. */
export const receiptAnswerSchema = z.strictObject({
  number: z.string(),
  kind: z.enum(['receipt', 'credit_note']),
  corrects: z.string().nullable(),
  issued_at: instant,
  order_id: z.uuid(),
  rail: railName,
  currency: z.literal('USD'),
  amount: usd,
  fee: usd,
  total: usd,
  account: z.strictObject({
    id: z.uuid(),
    name: z.string(),
    email: z.string().nullable(),
    /** The customer's own lines, such as a company, its address and its tax id. At most six. */
    details: z.string().nullable(),
  }),
  seller: z.strictObject({ name: z.string(), address: z.string(), tax_id: z.string().nullable() }),
});
export type ReceiptAnswer = z.infer<typeof receiptAnswerSchema>;

export const receiptPageSchema = pageOf(receiptAnswerSchema);
export type ReceiptPage = z.infer<typeof receiptPageSchema>;

export const packageId = z.string().min(1).max(64);

const formId = z
  .string()
  .regex(/^[\w-]{16,64}$/, { error: 'must be 16 to 64 letters, digits, _ or -, made anew for each order' });

export const createOrderSchema = z.strictObject({
  package_id: packageId,
  rail: railName,
  save_card: omittable(z.boolean()).describe('Consent to keep the card for auto top-up. Only with the rail `card`.'),
  /** Idempotency key: a repeated id returns the existing order. Without it, every request creates an order. */
  form_id: omittable(formId),
});

export const billingPageQuerySchema = z.strictObject(pageFields(100, 20));

/** Query of one receipt. Without `format`, the `accept` header decides. */
export const receiptQuerySchema = z.strictObject({
  format: z.enum(['json', 'html', 'pdf']).optional().describe('Overrides the header `accept`. The default is JSON.'),
});

export const orderContracts = contractsWith({ credentials: ['session'] })({
  'POST /v1/billing/orders': {
    operationId: 'createOrder',
    summary: 'Order a package',
    description:
      'Send a new `form_id` with each order, and repeat it when you retry, for example after a timeout. An order with the same `form_id` is placed once, even if requests arrive at the same time. A different order with the same `form_id` gets 409 `conflict`. While the status is `created`, Sotto is setting up the payment: poll the order until it has a `checkout_url`.',
    body: createOrderSchema,
    status: 201,
    answer: orderAnswerSchema,
    returns: 'The order. Pay it at `checkout_url`, if present.',
    answerHeaders: ['location'],
    otherAnswers: [
      {
        status: 200,
        description: 'The existing order with this `form_id`.',
        content: [{ mediaType: 'application/json', schema: orderAnswerSchema }],
        headers: ['location'],
      },
    ],
    examples: { body: { package_id: 'usd-25', rail: 'test', form_id: 'kX3vQ9mZ2sLw8RtB' } },
    errors: ['conflict', 'top_up_limit', 'rail_disabled', 'rail_error'],
  },
  'GET /v1/billing/orders': {
    operationId: 'listOrders',
    summary: 'List orders',
    query: billingPageQuerySchema,
    answer: orderPageSchema,
    returns: 'A page of orders, newest first.',
  },
  'GET /v1/billing/orders/{orderId}': {
    operationId: 'getOrder',
    summary: 'Get an order',
    description: 'Poll this while the order is `pending`.',
    params: { orderId: { note: 'The id of an order of this account.', id: 'order' } },
    answer: orderAnswerSchema,
    returns: 'The order.',
  },
  'GET /v1/billing/receipts': {
    operationId: 'listReceipts',
    summary: 'List receipts and credit notes',
    query: billingPageQuerySchema,
    answer: receiptPageSchema,
    returns: 'A page of receipts, newest first.',
  },
  'GET /v1/billing/receipts/{receiptNumber}': {
    operationId: 'getReceipt',
    summary: 'Get a receipt',
    params: { receiptNumber: { note: 'The number of a receipt of this account.', maxLength: 64 } },
    query: receiptQuerySchema,
    answer: receiptAnswerSchema,
    returns: 'The receipt as JSON, as a printable page or as a PDF.',
    otherContent: [
      { mediaType: 'text/html', schema: { type: 'string' } },
      { mediaType: 'application/pdf', schema: { type: 'string', contentMediaType: 'application/pdf' } },
    ],
    errors: ['not_found'],
  },
});
