import * as z from 'zod';

const instant = z.iso.datetime();
const usd = z.number();

export const railNames = ['card', 'crypto', 'test'] as const;
/** A way to pay: cards through Stripe, crypto through BTCPay Server, and none at all for trying out. */
export const railNameSchema = z.enum(railNames);
export type RailName = z.infer<typeof railNameSchema>;

const railSwitch = z.strictObject({ enabled: z.boolean() });

/** Answer of `GET /billing/catalog` (interface 4.5): what may be bought, and on which terms. */
export const billingCatalogSchema = z.strictObject({
  currency: z.literal('USD'),
  packages: z.array(z.strictObject({ id: z.string(), amount: usd, fee: usd, total: usd })),
  limits: z.strictObject({ max_balance: usd, max_open_orders: z.int(), max_per_day: usd }),
  fee: z.strictObject({ percent: z.number(), fixed: usd, minimum: usd }),
  order_lifetime_minutes: z.int(),
  terms: z.strictObject({ text: z.string(), url: z.string().nullable() }),
  rails: z.strictObject({ card: railSwitch, crypto: railSwitch, test: railSwitch }),
});
export type BillingCatalog = z.infer<typeof billingCatalogSchema>;

export const orderStatusSchema = z.enum(['created', 'pending', 'paid', 'failed', 'expired', 'refunded']);

/** A purchase order as its account sees it. The account is credited `amount` and pays `total`. */
export const orderAnswerSchema = z.strictObject({
  id: z.uuid(),
  status: orderStatusSchema,
  package_id: z.string(),
  rail: railNameSchema,
  currency: z.literal('USD'),
  amount: usd,
  fee: usd,
  total: usd,
  /** What the customer got back so far, of the total. */
  refunded: usd,
  /** Whether auto top-up made it. */
  automatic: z.boolean(),
  /** Where it can be paid; there while it can. */
  checkout_url: z.string().optional(),
  /** Why it failed, or what is being looked into; a code and a sentence. */
  problem: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  receipt_number: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
  paid_at: instant.nullable(),
});
export type OrderAnswer = z.infer<typeof orderAnswerSchema>;

export const orderPageSchema = z.strictObject({ data: z.array(orderAnswerSchema), next_cursor: z.string().nullable() });
export type OrderPage = z.infer<typeof orderPageSchema>;

/** A receipt as it was issued. A credit note says what came back of the receipt that it corrects. */
export const receiptAnswerSchema = z.strictObject({
  number: z.string(),
  kind: z.enum(['receipt', 'credit_note']),
  corrects: z.string().nullable(),
  issued_at: instant,
  order_id: z.uuid(),
  rail: railNameSchema,
  currency: z.literal('USD'),
  amount: usd,
  fee: usd,
  total: usd,
  account: z.strictObject({ id: z.uuid(), name: z.string(), email: z.string().nullable() }),
  seller: z.strictObject({ name: z.string(), address: z.string(), tax_id: z.string().nullable() }),
});
export type ReceiptAnswer = z.infer<typeof receiptAnswerSchema>;

export const receiptPageSchema = z.strictObject({
  data: z.array(receiptAnswerSchema),
  next_cursor: z.string().nullable(),
});
export type ReceiptPage = z.infer<typeof receiptPageSchema>;

/** Answer of `GET` and `PUT /billing/settings`: what was set, and how things stand. */
export const billingSettingsStateSchema = z.strictObject({
  low_balance_usd: usd.nullable(),
  /** Whether the balance is below `low_balance_usd` now, and since when it was noticed. */
  low_balance: z.boolean(),
  low_balance_since: instant.nullable(),
  auto_top_up: z
    .strictObject({
      enabled: z.boolean(),
      threshold_usd: usd,
      package_id: z.string(),
      monthly_limit_usd: usd,
    })
    .nullable(),
  auto_top_up_state: z.strictObject({
    /** Why there are no more top-ups until these settings are saved again or an order is paid by hand. */
    paused: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    spent_this_month_usd: usd,
    last_outcome: z.strictObject({ code: z.string(), message: z.string(), at: instant }).nullable(),
  }),
});
export type BillingSettingsAnswer = z.infer<typeof billingSettingsStateSchema>;

/** What a payment service is told about an event that it delivered and that was believed. */
export const webhookOutcomeSchema = z.strictObject({
  received: z.literal(true),
  outcome: z.enum(['applied', 'unchanged', 'flagged', 'ignored', 'unknown_order']),
  message: z.string(),
});
export type WebhookAnswer = z.infer<typeof webhookOutcomeSchema>;
