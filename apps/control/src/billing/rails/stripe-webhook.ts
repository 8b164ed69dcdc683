import Stripe from 'stripe';
import * as z from 'zod';
import { type Delivery, type OrderPointer, type RailEvent, RailRefusedError, type WebhookReader } from './rail.ts';
import { askStripe } from './stripe-client.ts';
import {
  chargeSchema,
  eventOfDispute,
  eventsOfCharge,
  eventsOfIntent,
  eventsOfSession,
  idOf,
  intentSchema,
  type LinkedObject,
  linkedSchema,
  metadataNames,
  orderIdOf,
  sessionSchema,
} from './stripe-reading.ts';

const eventSchema = z.looseObject({ id: z.string(), type: z.string(), data: z.looseObject({ object: z.unknown() }) });

/**
 * Reads Stripe's webhooks. Stripe's own code checks signature and age over the raw bytes. A signed event is trusted. It
 * may still be late, repeated or out of order, and the order's state machine handles that.
 */
export function stripeWebhook(stripe: Stripe, webhookSecret: string): WebhookReader {
  /** Finds the order of a payment by its metadata: we may not know the payment yet. */
  const pointerTo = async (payment: string): Promise<OrderPointer> => {
    const asked = await askStripe(stripe.paymentIntents.retrieve(payment)).catch((error: unknown) => {
      if (error instanceof RailRefusedError) return undefined;
      throw error;
    });
    return { orderId: asked === undefined ? undefined : orderIdOf(intentSchema.parse(asked)), payment };
  };

  const readLinked = async (type: string, object: unknown, eventOf: (read: LinkedObject) => RailEvent) => {
    const linked = linkedSchema.parse(object);
    const payment = idOf(linked.payment_intent);
    if (payment === undefined) return ignored(type, 'It belongs to no payment intent.');
    return delivered(type, await pointerTo(payment), [eventOf(linked)]);
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
        // After a decline within Checkout, the person may use another card. The session reports the final outcome.
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
        return readLinked(type, data.object, ({ id }) => ({ type: 'noticed', flag: 'disputed', dispute: id }));
      case 'charge.dispute.closed':
        return readLinked(type, data.object, eventOfDispute);
      case 'refund.failed':
        return readLinked(type, data.object, () => ({ type: 'noticed', flag: 'refund_failed' }));
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
        // The delivery is signed but does not have the form of a known event.
        if (error instanceof z.ZodError) return { kind: 'refused', failed: 'malformed_body' };
        throw error;
      }
    },
  };
}

const ignored = (type: string, reason: string): Delivery => ({ kind: 'ignored', type, reason });

function delivered(type: string, pointer: OrderPointer, events: readonly RailEvent[]): Delivery {
  if (events.length === 0) return ignored(type, 'It does not change the order.');
  return { kind: 'events', type, pointer, events };
}
