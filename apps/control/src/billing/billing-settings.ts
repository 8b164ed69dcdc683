import { fileURLToPath } from 'node:url';
import { maxNusd, type Nusd, nusdToDecimal, usdToNusd } from '@sotto/money';
import { type Environment, readFileOrPart, readSettings, type Settings, setting } from '@sotto/server';
import { z } from 'zod';
import { isSafeUrl } from '../safe-url.ts';
import { type BillingPlan, parseBilling } from './billing-plan.ts';

const urlError = 'takes an https URL; plain http on loopback only';
const serviceUrl = z.string({ error: urlError }).refine(isSafeUrl, { error: urlError });
const secret = (what: string) => z.string({ error: `takes ${what}` }).min(8, { error: `takes ${what}` });

const usdError = `takes an amount in USD from 0 to ${nusdToDecimal(maxNusd)}, with at most nine decimals`;

export const environmentSchema = z.object({
  BILLING: z
    .enum(['prepaid', 'none'], { error: 'takes prepaid or none' })
    .default('prepaid')
    .describe(
      '`prepaid`: accounts buy balance. `none`: they get `MONTHLY_GRANT_USD` each month, and nothing is for sale.',
    ),
  MONTHLY_GRANT_USD: z
    .string()
    .regex(/^\d{1,7}(\.\d{1,9})?$/, { error: usdError })
    .transform((text) => usdToNusd(Number(text)))
    .refine((nusd) => nusd !== undefined, { error: usdError })
    .optional()
    .describe(
      'With `BILLING` `none`: the grant of each account on the first of a month (UTC). The rest expires with the month. The default is 0.',
    ),
  BILLING_FILE: setting.file
    .optional()
    .describe('Packages, limits, fee, terms and seller, as YAML. Control reads it at start. The default is built in.'),
  BILLING_TEST_RAIL: z
    .enum(['on', 'off'], { error: 'takes on or off' })
    .optional()
    .describe(
      'Lets orders be paid without money. The default is `off`; with `npm start` it is `on` until you set up another way to pay.',
    ),
  STRIPE_SECRET_KEY: secret('the secret API key of a Stripe account')
    .optional()
    .describe('Enables payment by card, together with `STRIPE_WEBHOOK_SECRET`.'),
  STRIPE_WEBHOOK_SECRET: secret('the signing secret of a Stripe webhook endpoint')
    .optional()
    .describe('Verifies the webhook events of Stripe.'),
  STRIPE_API_URL: serviceUrl.optional().describe("Address of a proxy to use instead of Stripe's own."),
  BTCPAY_URL: serviceUrl
    .optional()
    .describe('BTCPay Server. Enables payment by crypto, together with the three settings below.'),
  BTCPAY_API_KEY: secret('an API key of BTCPay Server')
    .optional()
    .describe('Creates and reads invoices at BTCPay Server.'),
  BTCPAY_STORE_ID: z
    .string()
    .min(1, { error: 'takes the id of a BTCPay store' })
    .optional()
    .describe('Store that invoices belong to.'),
  BTCPAY_WEBHOOK_SECRET: secret('the secret of a BTCPay webhook')
    .optional()
    .describe('Verifies the webhook events of BTCPay Server.'),
});

/** Names of the variables that billing reads, for code that passes an environment on. */
export const billingVariables: readonly string[] = Object.keys(environmentSchema.shape);

export interface StripeSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** A proxy or a stand-in for Stripe's own address. */
  readonly apiUrl: string | undefined;
}

export interface BtcpaySettings {
  readonly url: string;
  readonly apiKey: string;
  readonly storeId: string;
  readonly webhookSecret: string;
}

/** The ways to pay, with their secrets. Undefined: that rail is off. */
export interface RailSettings {
  readonly stripe: StripeSettings | undefined;
  readonly btcpay: BtcpaySettings | undefined;
  readonly test: boolean;
}

export interface BillingSettings {
  readonly file: string;
  readonly rails: RailSettings;
  /** The monthly grant of accounts for which an operator set none. Undefined: accounts buy balance, and get no grants. */
  readonly monthlyGrantNusd: Nusd | undefined;
}

/**
 * Reads the environment of billing. If a rail is half configured, or settings contradict each other, the error names the
 * variables.
 */
export function readBillingSettings(
  environment: Environment,
  defaults: { readonly testRail: 'on' | 'off' },
): Settings<BillingSettings> {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const missing =
    missingOf('cards', env, ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'], ['STRIPE_API_URL']) ??
    missingOf('crypto', env, ['BTCPAY_URL', 'BTCPAY_API_KEY', 'BTCPAY_STORE_ID', 'BTCPAY_WEBHOOK_SECRET'], []) ??
    contradictionOf(env);
  if (missing !== undefined) return { ok: false, message: missing };
  const { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET, BTCPAY_URL, BTCPAY_API_KEY, BTCPAY_STORE_ID } = env;
  const { BTCPAY_WEBHOOK_SECRET } = env;
  return {
    ok: true,
    settings: {
      file: env.BILLING_FILE ?? builtInBilling,
      rails: {
        stripe:
          STRIPE_SECRET_KEY && STRIPE_WEBHOOK_SECRET
            ? { secretKey: STRIPE_SECRET_KEY, webhookSecret: STRIPE_WEBHOOK_SECRET, apiUrl: env.STRIPE_API_URL }
            : undefined,
        btcpay:
          BTCPAY_URL && BTCPAY_API_KEY && BTCPAY_STORE_ID && BTCPAY_WEBHOOK_SECRET
            ? {
                url: BTCPAY_URL.replace(/\/+$/, ''),
                apiKey: BTCPAY_API_KEY,
                storeId: BTCPAY_STORE_ID,
                webhookSecret: BTCPAY_WEBHOOK_SECRET,
              }
            : undefined,
        test: env.BILLING === 'prepaid' && (env.BILLING_TEST_RAIL ?? defaults.testRail) === 'on',
      },
      monthlyGrantNusd: env.BILLING === 'none' ? (env.MONTHLY_GRANT_USD ?? 0n) : undefined,
    },
  };
}

/** Reads the billing file. An error is one line of text and names the line of the file. */
export async function readBillingPlan(file: string): Promise<Settings<BillingPlan>> {
  const bytes = await readFileOrPart(file).catch(() => undefined);
  if (bytes === undefined)
    return { ok: false, message: `BILLING_FILE is \`${file}\`: it takes the path of a readable file` };
  const parsed = parseBilling(bytes.toString('utf8'));
  if (parsed.ok) return { ok: true, settings: parsed.value };
  const [problem] = parsed.problems;
  return { ok: false, message: `BILLING_FILE: ${file}:${problem?.line}: ${problem?.message}` };
}

function missingOf(
  what: string,
  env: Readonly<Record<string, unknown>>,
  needed: readonly string[],
  optional: readonly string[],
): string | undefined {
  const given = [...needed, ...optional].find((name) => env[name] !== undefined);
  const missing = needed.find((name) => env[name] === undefined);
  if (given === undefined || missing === undefined) return undefined;
  return `${missing} is not set: payment by ${what} needs it beside ${given}`;
}

/** A deployment has either ways to pay or monthly grants. */
function contradictionOf(env: z.output<typeof environmentSchema>): string | undefined {
  if (env.BILLING === 'prepaid') {
    return env.MONTHLY_GRANT_USD === undefined
      ? undefined
      : 'MONTHLY_GRANT_USD is set, but BILLING is `prepaid`: set BILLING to none, or remove MONTHLY_GRANT_USD';
  }
  const rail =
    env.BILLING_TEST_RAIL === 'on'
      ? 'BILLING_TEST_RAIL is `on`'
      : env.STRIPE_SECRET_KEY !== undefined
        ? 'STRIPE_SECRET_KEY is set'
        : env.BTCPAY_URL !== undefined
          ? 'BTCPAY_URL is set'
          : undefined;
  return rail && `${rail}, but BILLING is \`none\`: remove the way to pay, or set BILLING to prepaid`;
}

/** Path of the billing file that comes with control. */
export const builtInBilling = fileURLToPath(
  new URL('billing.yaml', import.meta.resolve('@sotto/control/package.json')),
);
