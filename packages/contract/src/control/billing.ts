import * as z from 'zod';
import { contracts } from '../contract.ts';
import { instant, limitUsd, usd } from '../fields.ts';
import { packageId } from './orders.ts';

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
  spent: usd.describe('The sum of booked requests that the grant has paid. Running requests are not in this sum.'),
  /** The amount of the next month. */
  next_amount: usd,
  renews_at: instant.describe('When what is left expires, and the next grant comes.'),
});
export type MonthlyGrantAnswer = z.infer<typeof monthlyGrantAnswerSchema>;

/** Answer of `GET` and `PUT /billing/settings`: the settings and the current state. */
export const billingSettingsStateSchema = z.strictObject({
  receipt_details: z.string().nullable(),
  low_balance_usd: usd.nullable(),
  /** Whether the balance is below `low_balance_usd` now, and since when it was noticed. */
  low_balance: z.boolean(),
  low_balance_since: instant.nullable(),
  auto_top_up: z
    .strictObject({ enabled: z.boolean(), threshold_usd: usd, package_id: z.string(), monthly_limit_usd: usd })
    .nullable(),
  auto_top_up_state: z.strictObject({
    /** Why auto top-up is paused. It resumes when the settings are saved. An order paid by hand resumes it too, except after a refund or a dispute. */
    paused: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
    spent_this_month_usd: usd,
    last_outcome: z.strictObject({ code: z.string(), message: z.string(), at: instant }).nullable(),
  }),
});
export type BillingSettingsAnswer = z.infer<typeof billingSettingsStateSchema>;

const receiptDetails = z
  .string()
  .trim()
  .min(1)
  .max(400)
  .refine((text) => text.split('\n').length <= 6, { error: 'must be at most six lines' })
  .refine((text) => !/[^\P{Cc}\n]/u.test(text), { error: 'must be text without control characters' });

/**
 * Body of `PUT /billing/settings`. A field that is left out stays as it is. Without `receipt_details`, both others are
 * required.
 */
export const billingSettingsSchema = z
  .strictObject({
    /** Text about the customer for all later receipts, such as a company, its address and its tax id. */
    receipt_details: receiptDetails.nullable().optional(),
    low_balance_usd: limitUsd.nullable().optional(),
    auto_top_up: z
      .strictObject({
        enabled: z.boolean(),
        threshold_usd: limitUsd,
        package_id: packageId,
        monthly_limit_usd: limitUsd,
      })
      .nullable()
      .optional(),
  })
  .superRefine((body, context) => {
    if (body.receipt_details !== undefined) return;
    for (const name of ['low_balance_usd', 'auto_top_up'] as const)
      if (body[name] === undefined) context.addIssue({ code: 'custom', path: [name], message: 'is required' });
  })
  .meta({
    anyOf: [
      { type: 'object', required: ['receipt_details'] },
      { type: 'object', required: ['low_balance_usd', 'auto_top_up'] },
    ],
  });
export type BillingSettings = z.infer<typeof billingSettingsSchema>;

/** The packages for sale, the monthly grant and settings. */
export const billingContracts = contracts({
  'GET /v1/billing/catalog': {
    operationId: 'getBillingCatalog',
    summary: 'Get packages, fees, limits and terms',
    credentials: [],
    cache: 'public',
    answer: billingCatalogSchema,
    returns: 'The packages for sale and the available ways to pay.',
  },
  'GET /v1/billing/grant': {
    operationId: 'getMonthlyGrant',
    summary: "Get this month's grant",
    description: 'Deployments with `BILLING` `none` give each account a monthly grant.',
    credentials: ['session'],
    answer: monthlyGrantAnswerSchema,
    returns: 'The grant of this month (UTC). All amounts are 0 without one.',
  },
  'GET /v1/billing/settings': {
    operationId: 'getBillingSettings',
    summary: 'Get the settings of receipts, low-balance notice and auto top-up',
    credentials: ['session'],
    answer: billingSettingsStateSchema,
    returns: 'The settings and the current state.',
  },
  'PUT /v1/billing/settings': {
    operationId: 'putBillingSettings',
    summary: 'Replace the settings of receipts, low-balance notice and auto top-up',
    description:
      'Auto top-up needs a card that an order with `save_card` saved. A field that is left out stays as it is; without `receipt_details`, both others are required.',
    credentials: ['session'],
    body: billingSettingsSchema,
    answer: billingSettingsStateSchema,
    returns: 'The new settings.',
    examples: { body: { low_balance_usd: 5, auto_top_up: null } },
    errors: ['conflict', 'rail_disabled'],
  },
});
