import { fileURLToPath } from 'node:url';
import type { Nusd } from '@sotto/money';
import {
  billingSchema,
  type Environment,
  missingOf,
  readFileOrPart,
  readSettings,
  type Settings,
  type SettingsOf,
} from '@sotto/server';
import { type BillingPlan, parseBilling } from './billing-plan.ts';

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
  const read = readSettings(billingSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const missing =
    missingOf('payment by cards', env, ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'], ['STRIPE_API_URL']) ??
    missingOf('payment by crypto', env, ['BTCPAY_URL', 'BTCPAY_API_KEY', 'BTCPAY_STORE_ID', 'BTCPAY_WEBHOOK_SECRET']) ??
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

/** A deployment has either ways to pay or monthly grants. */
function contradictionOf(env: Pick<SettingsOf<'control'>, keyof typeof billingSchema.shape>): string | undefined {
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

export const builtInBilling = fileURLToPath(
  new URL('billing.yaml', import.meta.resolve('@sotto/control/package.json')),
);
