import * as z from 'zod';
import { railNameSchema } from '../answers/billing.ts';
import { pageFields } from './page-query.ts';
import { omittable } from './without-nulls.ts';

export const packageIdSchema = z.string().min(1).max(64);
const usd = z.number().min(0).max(1_000_000);

const formId = z
  .string()
  .regex(/^[\w-]{16,64}$/, { error: 'must be 16 to 64 letters, digits, _ or -, made anew for each order' });

/** Body of `POST /billing/orders`. */
export const createOrderSchema = z.strictObject({
  package_id: packageIdSchema,
  rail: railNameSchema,
  /** The customer's consent to keep the card for auto top-up; only with the rail `card`. */
  save_card: omittable(z.boolean()),
  /** Idempotency key: a repeated id returns the existing order. Without it, every request creates an order. */
  form_id: omittable(formId),
});
export type CreateOrder = z.infer<typeof createOrderSchema>;

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
    low_balance_usd: usd.nullable().optional(),
    auto_top_up: z
      .strictObject({ enabled: z.boolean(), threshold_usd: usd, package_id: packageIdSchema, monthly_limit_usd: usd })
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

/** Query of the lists of orders and receipts. */
export const billingPageQuerySchema = z.strictObject(pageFields(100, 20));

/** Query of one receipt. Without `format`, the `accept` header decides. */
export const receiptQuerySchema = z.strictObject({ format: z.enum(['json', 'html', 'pdf']).optional() });
