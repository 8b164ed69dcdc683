import * as z from 'zod';

const instant = z.iso.datetime();
const usd = z.number();

export const railNames = ['card', 'crypto', 'test'] as const;
/** A way to pay: `card` through Stripe, `crypto` through BTCPay Server, or `test` without money. */
export const railNameSchema = z.enum(railNames);
export type RailName = z.infer<typeof railNameSchema>;

const railSwitch = z.strictObject({ enabled: z.boolean() });

/** Answer of `GET /billing/catalog`: the packages for sale and their terms. */
export const billingCatalogSchema = z.strictObject({
  /** `none`: nothing is for sale, and accounts get a monthly grant. */
  mode: z.enum(['prepaid', 'none']),
  currency: z.literal('USD'),
  packages: z.array(z.strictObject({ id: z.string(), amount: usd, fee: usd, total: usd })),
  limits: z.strictObject({ max_balance: usd, max_open_orders: z.int(), max_per_day: usd }),
  fee: z.strictObject({ percent: z.number(), fixed: usd, minimum: usd }),
  order_lifetime_minutes: z.int(),
  terms: z.strictObject({ text: z.string(), url: z.string().nullable() }),
  rails: z.strictObject({ card: railSwitch, crypto: railSwitch, test: railSwitch }),
});
export type BillingCatalog = z.infer<typeof billingCatalogSchema>;

/** Answer of `GET /billing/grant`: the account's grant of this month (UTC). All amounts are 0 without one. */
export const monthlyGrantAnswerSchema = z.strictObject({
  currency: z.literal('USD'),
  /** `YYYY-MM`. */
  month: z.string(),
  amount: usd,
  /** What the grant has paid of booked requests. */
  spent: usd,
  /** The amount of the next month. */
  next_amount: usd,
  /** When what is left expires, and the next grant comes. */
  renews_at: instant,
});
export type MonthlyGrantAnswer = z.infer<typeof monthlyGrantAnswerSchema>;

const orderStatusSchema = z.enum(['created', 'pending', 'paid', 'failed', 'expired', 'refunded']);

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

/** Where to pay an invoice by one method of BTCPay Server, such as `BTC-CHAIN` or `BTC-LN`, without opening a page. */
const payToSchema = z.strictObject({
  method: z.string(),
  currency: z.string(),
  /** What is due, in the method's currency. */
  amount: z.string(),
  destination: z.string(),
  /** For wallets, such as `bitcoin:` or `lightning:`. */
  link: z.string().nullable(),
});
export type PayTo = z.infer<typeof payToSchema>;

/** Answer of `POST /wallets`: an order that is not paid. `pay_to` is empty before and after it can be paid. */
export const walletOrderSchema = orderAnswerSchema
  .omit({ checkout_url: true })
  .extend({ pay_to: z.array(payToSchema) });
export type WalletOrder = z.infer<typeof walletOrderSchema>;

export const orderPageSchema = z.strictObject({ data: z.array(orderAnswerSchema), next_cursor: z.string().nullable() });
export type OrderPage = z.infer<typeof orderPageSchema>;

/** A page of the orders of all accounts, for operators. */
export const operatorOrderPageSchema = z.strictObject({
  data: z.array(orderAnswerSchema.omit({ checkout_url: true }).extend({ account_id: z.uuid() })),
  next_cursor: z.string().nullable(),
});
export type OperatorOrderPage = z.infer<typeof operatorOrderPageSchema>;

/** A receipt as it was issued. A credit note states the refund of the receipt that it corrects. */
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

export const receiptPageSchema = z.strictObject({
  data: z.array(receiptAnswerSchema),
  next_cursor: z.string().nullable(),
});
export type ReceiptPage = z.infer<typeof receiptPageSchema>;

/** Answer of `GET` and `PUT /billing/settings`: the settings and the current state. */
export const billingSettingsStateSchema = z.strictObject({
  receipt_details: z.string().nullable(),
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
    /** Why auto top-up is paused. It resumes when the settings are saved or an order is paid by hand. */
    paused: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    spent_this_month_usd: usd,
    last_outcome: z.strictObject({ code: z.string(), message: z.string(), at: instant }).nullable(),
  }),
});
export type BillingSettingsAnswer = z.infer<typeof billingSettingsStateSchema>;

/** Answer to a payment service about an event with a valid signature. */
export const webhookOutcomeSchema = z.strictObject({
  received: z.literal(true),
  outcome: z.enum(['applied', 'unchanged', 'flagged', 'ignored', 'unknown_order']),
  message: z.string(),
});
export type WebhookAnswer = z.infer<typeof webhookOutcomeSchema>;
