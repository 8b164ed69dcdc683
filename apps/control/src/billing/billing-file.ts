import { nanoPerCent, usdToNusd } from '@sotto/money';
import { z } from 'zod';

const isWholeCents = (usd: number): boolean => {
  const nusd = usdToNusd(usd);
  return nusd !== undefined && nusd % nanoPerCent === 0n;
};

const isThousandths = (percent: number): boolean => Math.abs(percent * 1000 - Math.round(percent * 1000)) < 1e-9;

const cents = z.number().refine(isWholeCents, { error: 'must be whole cents, 0 or more' });
const someCents = cents.min(0.01, { error: 'must be at least one cent' });
const sentence = z.string().max(2000);

/** BILLING_FILE: packages, limits, fee, terms and seller. Everything is in USD. */
export const billingFileSchema = z.strictObject({
  packages: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[a-z0-9-]{1,64}$/, { error: 'must be lower-case letters, digits and hyphens' }),
        amount: someCents.max(100_000),
      }),
    )
    .min(1)
    .max(50),
  limits: z.strictObject({
    max_balance: someCents.max(1_000_000),
    max_open_orders: z.int().min(1).max(100),
    max_per_day: someCents.max(1_000_000),
  }),
  fee: z.strictObject({
    percent: z
      .number()
      .min(0)
      .max(50)
      .refine(isThousandths, { error: 'must be a percentage of at most three decimals' }),
    fixed: cents,
    minimum: cents,
  }),
  // Stripe keeps idempotency keys for a day, and a Checkout session lives no longer.
  order_lifetime_minutes: z.int().min(5).max(1440).default(60),
  terms: z.strictObject({
    text: sentence,
    url: z
      .url({ protocol: /^https?$/ })
      .nullable()
      .default(null),
  }),
  seller: z.strictObject({
    name: sentence.min(1),
    address: sentence.default(''),
    tax_id: z.string().max(100).nullable().default(null),
  }),
});
export type BillingFile = z.infer<typeof billingFileSchema>;
