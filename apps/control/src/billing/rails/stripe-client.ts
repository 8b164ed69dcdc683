import Stripe from 'stripe';
import type { StripeSettings } from '../billing-settings.ts';
import { RailRefusedError, RailUnavailableError } from './rail.ts';

const timeoutMs = 10_000;

/** Creates Stripe's own client. It retries a call once after a network failure, under the same idempotency key. */
export function stripeClient({ secretKey, apiUrl }: StripeSettings): Stripe {
  const url = apiUrl === undefined ? undefined : new URL(apiUrl);
  return new Stripe(secretKey, {
    timeout: timeoutMs,
    maxNetworkRetries: 1,
    telemetry: false,
    ...(url === undefined
      ? {}
      : {
          protocol: url.protocol === 'http:' ? ('http' as const) : ('https' as const),
          host: url.hostname,
          port: url.port || (url.protocol === 'http:' ? '80' : '443'),
        }),
  });
}

const refusals: readonly string[] = [
  'StripeInvalidRequestError',
  'StripeIdempotencyError',
  'StripePermissionError',
  'StripeAuthenticationError',
  'StripeCardError',
];

/**
 * Runs a call and separates Stripe's final refusals from failures with an unknown outcome. Stripe's messages do not
 * leave this module.
 */
export async function askStripe<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error;
    const code = error.code ?? error.type;
    // The same call under the same idempotency key is still running (`idempotency_key_in_use`): its outcome is not known.
    if (error.statusCode === 409) throw new RailUnavailableError(code, error);
    if (refusals.includes(error.type)) throw new RailRefusedError(code, error);
    throw new RailUnavailableError(code, error);
  }
}
