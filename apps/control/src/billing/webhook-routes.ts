import type { RailName } from '@sotto/contract/control/orders';
import { type WebhookAnswer, webhookContracts } from '@sotto/contract/control/payment-webhooks';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import { limitByAddress } from '../limits/rate-limits.ts';
import type { Serve } from '../serve/serve.ts';
import { type Applied, type ApplyDependencies, applyEvent } from './orders/apply-event.ts';
import { messageOf } from './orders/order-record.ts';
import { findOrderId } from './orders/order-store.ts';
import { type Delivery, RailError, type WebhookReader } from './rails/rail.ts';

/** By address: all deliveries of a service come from a few. Rejecting a bad signature costs one HMAC. */
const deliveriesAMinute = 6_000;

export interface WebhookRoutesDependencies {
  readonly orders: ApplyDependencies;
  readonly readers: { readonly stripe: WebhookReader | undefined; readonly btcpay: WebhookReader | undefined };
}

/**
 * Serves the webhooks of payment services. A delivery with a good signature gets 200 and an explanation, even if we
 * can do nothing with it: sending it again would not help. The status 503 asks the service to deliver again, because we
 * cannot know the outcome yet. The status 400 rejects a delivery that is malformed or not signed with the secret.
 */
export const serveWebhooks = (serve: Serve, deps: WebhookRoutesDependencies): void =>
  serve(webhookContracts)({
    'POST /v1/billing/webhooks/stripe': taking(deps, {
      rail: 'card',
      header: 'stripe-signature',
      reader: deps.readers.stripe,
    }),
    'POST /v1/billing/webhooks/btcpay': taking(deps, {
      rail: 'crypto',
      header: 'btcpay-sig',
      reader: deps.readers.btcpay,
    }),
  });

interface Webhook {
  readonly rail: RailName;
  readonly header: string;
  readonly reader: WebhookReader | undefined;
}

const taking = (deps: WebhookRoutesDependencies, { rail, header, reader }: Webhook) => ({
  config: limitByAddress(deliveriesAMinute),
  handler: async ({ request }: { readonly request: FastifyRequest }): Promise<WebhookAnswer> => {
    if (reader === undefined) {
      throw new ServiceError('rail_disabled', { message: `Payment by \`${rail}\` is not configured here.` });
    }
    const { body } = request;
    const signature = request.headers[header];
    const delivery = await reader
      .read({
        body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
        signature: typeof signature === 'string' ? signature : undefined,
        nowMs: deps.orders.now(),
      })
      .catch((error: unknown) => {
        if (!(error instanceof RailError)) throw error;
        deps.orders.events.railFailed({ rail, action: 'webhook', code: error.code });
        throw new ServiceError('service_unavailable', {
          message: 'The payment service cannot be asked about this event. Deliver it again.',
          retryAfterS: 60,
        });
      });
    return handleDelivery(deps, rail, delivery);
  },
});

async function handleDelivery(
  { orders }: WebhookRoutesDependencies,
  rail: RailName,
  delivery: Delivery,
): Promise<WebhookAnswer> {
  const { events } = orders;
  if (delivery.kind === 'refused') {
    events.webhookRefused({ rail, failed: delivery.failed });
    throw new ServiceError('invalid_request', { message: refusals[delivery.failed] ?? 'The delivery is malformed.' });
  }
  if (delivery.kind === 'ignored') return answer('ignored', delivery.reason);
  const orderId = await findOrderId(orders.pool, rail, delivery.pointer);
  if (orderId === undefined) {
    events.webhookUnknownOrder({ rail, type: knownType(delivery.type) });
    return answer('unknown_order', 'No order of this deployment belongs to it. Nothing was credited.');
  }
  const applied: Applied[] = [];
  for (const event of delivery.events) {
    const step = await applyEvent(orders, orderId, event, { source: 'webhook' });
    if (step !== undefined) applied.push(step);
  }
  const flagged = applied.find(({ flag }) => flag !== undefined)?.flag;
  if (flagged !== undefined) return answer('flagged', messageOf(flagged));
  const status = applied.at(-1)?.order.status ?? 'unknown';
  return applied.some(({ outcome }) => outcome === 'applied')
    ? answer('applied', `The order is ${status}.`)
    : answer('unchanged', `This was known: the order is ${status}.`);
}

const refusals: Readonly<Record<string, string>> = {
  no_signature: 'The delivery is not signed.',
  wrong_signature: 'The signature does not fit the body: check the webhook secret on both sides.',
  old_timestamp: 'The delivery was signed too long ago.',
  malformed_body: 'The body is signed, but is not an event.',
};

const answer = (outcome: WebhookAnswer['outcome'], message: string): WebhookAnswer => ({
  received: true,
  outcome,
  message,
});

/** Returns the type of an event for the log. Replaces anything that does not look like a type. */
const knownType = (type: string): string => (/^[\w.]{1,60}$/.test(type) ? type : 'other');
