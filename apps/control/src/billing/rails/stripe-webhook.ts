import Stripe from 'stripe';
import { z } from 'zod';
import { type RailEvent, RailRefusedError } from './rail.ts';
import { askStripe } from './stripe-client.ts';
import {
  centsToNusd,
  chargeSchema,
  eventsOfCharge,
  eventsOfIntent,
  eventsOfSession,
  idOf,
  intentSchema,
  metadataNames,
  orderIdOf,
  sessionSchema,
} from './stripe-reading.ts';
import type { Delivery, OrderPointer, WebhookReader } from './webhook.ts';

const eventSchema = z.looseObject({ id: z.string(), type: z.string(), data: z.looseObject({ object: z.unknown() }) });

/** A dispute or a refund: an object that hangs on a payment and carries none of our metadata. */
const hangingSchema = z.looseObject({
  status: z.string().nullish(),
  amount: z.int().min(0),
  payment_intent: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
});

/**
 * Reads Stripe's webhooks: signature and age are checked by Stripe's own code, over the bytes as they came. What a
 * signed event says is believed; that it may be late, repeated or out of order is the order machine's to bear.
 */
export function stripeWebhook(stripe: Stripe, webhookSecret: string): WebhookReader {
  /** The order behind a payment: by its metadata, since the payment may not have been told of yet. */
  const pointerTo = async (payment: string): Promise<OrderPointer> => {
    const asked = await askStripe(stripe.paymentIntents.retrieve(payment)).catch((error: unknown) => {
      if (error instanceof RailRefusedError) return undefined;
      throw error;
    });
    return { orderId: asked === undefined ? undefined : orderIdOf(intentSchema.parse(asked)), payment };
  };

  const readHanging = async (type: string, object: unknown, eventOf: (read: Hanging) => RailEvent | string) => {
    const hanging = hangingSchema.parse(object);
    const payment = idOf(hanging.payment_intent);
    if (payment === undefined) return ignored(type, 'It belongs to no payment intent.');
    const event = eventOf(hanging);
    if (typeof event === 'string') return ignored(type, event);
    return delivered(type, await pointerTo(payment), [event]);
  };

  const readEvent = async (verified: unknown): Promise<Delivery> => {
    const { type, data } = eventSchema.parse(verified);
    switch (type) {
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded':
      case 'checkout.session.expired': {
        const session = sessionSchema.parse(data.object);
        const pointer = { orderId: orderIdOf(session), reference: session.id };
        return delivered(type, pointer, eventsOfSession(session));
      }
      case 'checkout.session.async_payment_failed': {
        const session = sessionSchema.parse(data.object);
        const pointer = { orderId: orderIdOf(session), reference: session.id };
        return delivered(type, pointer, [{ type: 'failed', reason: 'payment_failed' }]);
      }
      case 'payment_intent.succeeded':
      case 'payment_intent.payment_failed':
      case 'payment_intent.canceled': {
        const intent = intentSchema.parse(data.object);
        // A card that is declined within Checkout may be followed by another: the session tells how it ended.
        if (intent.metadata?.[metadataNames.automatic] !== 'true') {
          return ignored(type, 'It is told by its Checkout session.');
        }
        return delivered(type, { orderId: orderIdOf(intent), reference: intent.id }, eventsOfIntent(intent));
      }
      case 'charge.refunded': {
        const charge = chargeSchema.parse(data.object);
        const pointer = { orderId: orderIdOf(charge), payment: idOf(charge.payment_intent) };
        return delivered(type, pointer, eventsOfCharge(charge));
      }
      case 'charge.dispute.created':
        return readHanging(type, data.object, () => ({ type: 'noticed', flag: 'disputed' }));
      case 'charge.dispute.closed':
        return readHanging(type, data.object, ({ status, amount }) =>
          status === 'lost' ? { type: 'dispute_lost', totalNusd: centsToNusd(amount) } : `It was closed as ${status}.`,
        );
      case 'refund.failed':
        return readHanging(type, data.object, () => ({ type: 'noticed', flag: 'refund_failed' }));
      default:
        return ignored(type, 'Events of this type say nothing about orders.');
    }
  };

  return {
    async read({ body, signature, nowMs }): Promise<Delivery> {
      if (signature === undefined) return { kind: 'refused', failed: 'no_signature' };
      let verified: unknown;
      try {
        verified = Stripe.webhooks.constructEvent(body, signature, webhookSecret, undefined, undefined, nowMs);
      } catch (error) {
        const late = error instanceof Error && error.message.includes('Timestamp outside');
        return { kind: 'refused', failed: late ? 'old_timestamp' : 'wrong_signature' };
      }
      try {
        return await readEvent(verified);
      } catch (error) {
        // Signed, and yet of another form than the events that we know.
        if (error instanceof z.ZodError) return { kind: 'refused', failed: 'malformed_body' };
        throw error;
      }
    },
  };
}

type Hanging = z.infer<typeof hangingSchema>;

const ignored = (type: string, reason: string): Delivery => ({ kind: 'ignored', type, reason });

function delivered(type: string, pointer: OrderPointer, events: readonly RailEvent[]): Delivery {
  if (events.length === 0) return ignored(type, 'It does not change the order.');
  return { kind: 'events', type, pointer, events };
}
