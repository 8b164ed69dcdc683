import { maxNusd, nusdToDecimal, usdToNusd } from '@sotto/money';
import * as z from 'zod';
import { file, isSafeUrl } from '../kinds.ts';
import { controlAndStart } from '../row.ts';

const urlError = 'takes an https URL; plain http on loopback only';
const serviceUrl = z.string({ error: urlError }).refine(isSafeUrl, { error: urlError });
const secretOf = (what: string) => z.string({ error: `takes ${what}` }).min(8, { error: `takes ${what}` });

const usdError = `takes an amount in USD from 0 to ${nusdToDecimal(maxNusd)}, with at most nine decimals`;
const usd = z
  .string()
  .regex(/^\d{1,7}(\.\d{1,9})?$/, { error: usdError })
  .transform((text) => usdToNusd(Number(text)))
  .refine((nusd) => nusd !== undefined, { error: usdError });

/** What accounts pay for, and how. */
export const billingRows = [
  controlAndStart('BILLING', 'billing.mode', {
    kind: z.enum(['prepaid', 'none'], { error: 'takes prepaid or none' }),
    default: 'prepaid',
    describe:
      '`prepaid`: accounts buy balance. `none`: they get `MONTHLY_GRANT_USD` each month, and nothing is for sale.',
  }),
  controlAndStart('MONTHLY_GRANT_USD', 'billing.monthly_grant_usd', {
    kind: usd,
    describe:
      'With `BILLING` `none`: the grant of each account on the first of a month (UTC). The rest expires with the month. The default is 0.',
  }),
  controlAndStart('BILLING_FILE', 'billing.file', {
    kind: file,
    describe: 'Packages, limits, fee, terms and seller, as YAML. Control reads it at start. The default is built in.',
  }),
  controlAndStart('BILLING_TEST_RAIL', 'billing.test_rail', {
    kind: z.enum(['on', 'off'], { error: 'takes on or off' }),
    describe:
      'Lets orders be paid without money. The default is `off`; with `npm start` it is `on` until you set up another way to pay.',
  }),
  controlAndStart('STRIPE_SECRET_KEY', 'billing.stripe.secret_key', {
    kind: secretOf('the secret API key of a Stripe account'),
    describe: 'Enables payment by card, together with `STRIPE_WEBHOOK_SECRET`.',
  }),
  controlAndStart('STRIPE_WEBHOOK_SECRET', 'billing.stripe.webhook_secret', {
    kind: secretOf('the signing secret of a Stripe webhook endpoint'),
    describe: 'Verifies the webhook events of Stripe.',
  }),
  controlAndStart('STRIPE_API_URL', 'billing.stripe.api_url', {
    kind: serviceUrl,
    describe: "Address of a proxy to use instead of Stripe's own.",
  }),
  controlAndStart('BTCPAY_URL', 'billing.btcpay.url', {
    kind: serviceUrl,
    describe: 'BTCPay Server. Enables payment by crypto, together with the three settings below.',
  }),
  controlAndStart('BTCPAY_API_KEY', 'billing.btcpay.api_key', {
    kind: secretOf('an API key of BTCPay Server'),
    describe: 'Creates and reads invoices at BTCPay Server.',
  }),
  controlAndStart('BTCPAY_STORE_ID', 'billing.btcpay.store_id', {
    kind: z.string().min(1, { error: 'takes the id of a BTCPay store' }),
    describe: 'Store that invoices belong to.',
  }),
  controlAndStart('BTCPAY_WEBHOOK_SECRET', 'billing.btcpay.webhook_secret', {
    kind: secretOf('the secret of a BTCPay webhook'),
    describe: 'Verifies the webhook events of BTCPay Server.',
  }),
];
