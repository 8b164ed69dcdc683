import { readFile } from 'node:fs/promises';
import { type Environment, readSettings, type Settings, setting } from '@sotto/settings';
import { z } from 'zod';
import { type BillingPlan, parseBilling } from './billing-plan.ts';
import { builtInBilling } from './built-in-billing.ts';

const urlError = 'takes an https URL; plain http on loopback only';
const serviceUrl = z.string({ error: urlError }).refine(isSafeUrl, { error: urlError });
const secret = (what: string) => z.string({ error: `takes ${what}` }).min(8, { error: `takes ${what}` });

const environmentSchema = z.object({
  BILLING_FILE: setting.file.optional(),
  BILLING_TEST_RAIL: z.enum(['on', 'off'], { error: 'takes on or off' }).optional(),
  STRIPE_SECRET_KEY: secret('the secret API key of a Stripe account').optional(),
  STRIPE_WEBHOOK_SECRET: secret('the signing secret of a Stripe webhook endpoint').optional(),
  STRIPE_API_URL: serviceUrl.optional(),
  BTCPAY_URL: serviceUrl.optional(),
  BTCPAY_API_KEY: secret('an API key of BTCPay Server').optional(),
  BTCPAY_STORE_ID: z.string().min(1, { error: 'takes the id of a BTCPay store' }).optional(),
  BTCPAY_WEBHOOK_SECRET: secret('the secret of a BTCPay webhook').optional(),
});

/** The variables that billing reads, for whoever passes an environment on. */
export const billingVariables: readonly string[] = Object.keys(environmentSchema.shape);

export interface StripeSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Another address than Stripe's own: a proxy or a stand-in. */
  readonly apiUrl: string | undefined;
}

export interface BtcpaySettings {
  readonly url: string;
  readonly apiKey: string;
  readonly storeId: string;
  readonly webhookSecret: string;
}

/** Which ways to pay there are, with their secrets; undefined: that rail is off. */
export interface RailSettings {
  readonly stripe: StripeSettings | undefined;
  readonly btcpay: BtcpaySettings | undefined;
  readonly test: boolean;
}

export interface BillingSettings {
  readonly file: string;
  readonly rails: RailSettings;
}

/** Reads what billing needs of the environment; a rail that is half configured is refused by name of what is missing. */
export function readBillingSettings(
  environment: Environment,
  defaults: { readonly testRail: 'on' | 'off' },
): Settings<BillingSettings> {
  const read = readSettings(environmentSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const missing =
    missingOf('cards', env, ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'], ['STRIPE_API_URL']) ??
    missingOf('crypto', env, ['BTCPAY_URL', 'BTCPAY_API_KEY', 'BTCPAY_STORE_ID', 'BTCPAY_WEBHOOK_SECRET'], []);
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
        test: (env.BILLING_TEST_RAIL ?? defaults.testRail) === 'on',
      },
    },
  };
}

/** Reads the billing file; what is wrong comes back as one line, with the line of the file. */
export async function readBillingPlan(file: string): Promise<Settings<BillingPlan>> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined)
    return { ok: false, message: `BILLING_FILE is \`${file}\`: it takes the path of a readable file` };
  const parsed = parseBilling(text);
  if (parsed.ok) return { ok: true, settings: parsed.value };
  const [problem] = parsed.problems;
  return { ok: false, message: `BILLING_FILE: ${file}:${problem?.line}: ${problem?.message}` };
}

function missingOf(
  what: string,
  env: Environment,
  needed: readonly string[],
  optional: readonly string[],
): string | undefined {
  const given = [...needed, ...optional].find((name) => env[name] !== undefined);
  const missing = needed.find((name) => env[name] === undefined);
  if (given === undefined || missing === undefined) return undefined;
  return `${missing} is not set: payment by ${what} needs it beside ${given}`;
}

function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') return false;
  return (
    url.protocol === 'https:' || (url.protocol === 'http:' && setting.isLoopback(url.hostname.replace(/^\[|\]$/g, '')))
  );
}
