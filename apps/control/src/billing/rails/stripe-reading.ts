import { type Nusd, nanoPerCent } from '@sotto/money';
import * as z from 'zod';
import type { RailEvent } from './rail.ts';

// Parse loosely: a webhook endpoint may send another version of Stripe's API than our client uses.
const metadata = z.record(z.string(), z.string()).nullish();
const reference = z.union([z.string(), z.looseObject({ id: z.string() })]).nullish();

export const chargeSchema = z.looseObject({
  id: z.string(),
  amount_refunded: z.int().min(0),
  disputed: z.boolean().nullish(),
  payment_intent: reference,
  metadata,
});
export type ReadCharge = z.infer<typeof chargeSchema>;

/** A dispute or a refund. It belongs to a payment and does not carry our metadata. */
export const linkedSchema = z.looseObject({
  id: z.string().regex(/^\w{1,255}$/),
  status: z.string().nullish(),
  amount: z.int().min(0),
  payment_intent: reference,
});
export type LinkedObject = z.infer<typeof linkedSchema>;

const latestCharge = z.union([z.string(), chargeSchema]).nullish();

export const intentSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  amount_received: z.int().min(0),
  currency: z.string(),
  latest_charge: latestCharge,
  last_payment_error: z.looseObject({ code: z.string().nullish(), decline_code: z.string().nullish() }).nullish(),
  metadata,
});
export type ReadIntent = z.infer<typeof intentSchema>;

export const sessionSchema = z.looseObject({
  id: z.string(),
  url: z.string().nullish(),
  status: z.string().nullish(),
  payment_status: z.string(),
  amount_total: z.int().min(0).nullish(),
  currency: z.string().nullish(),
  payment_intent: z.union([z.string(), z.looseObject({ id: z.string(), latest_charge: latestCharge })]).nullish(),
  metadata,
});
export type ReadSession = z.infer<typeof sessionSchema>;

/** Names of our metadata. Stripe copies the metadata of a payment intent to its charge. */
export const metadataNames = {
  order: 'sotto_order_id',
  account: 'sotto_account_id',
  automatic: 'sotto_automatic',
} as const;

export const orderIdOf = (object: { metadata?: Record<string, string> | null | undefined }): string | undefined =>
  object.metadata?.[metadataNames.order];

export const idOf = (value: z.infer<typeof reference>): string | undefined =>
  typeof value === 'string' ? value : value?.id;

/** Converts Stripe's integer cents to nano-USD. */
export const centsToNusd = (cents: number): Nusd => BigInt(cents) * nanoPerCent;

export function eventsOfSession(session: ReadSession): RailEvent[] {
  const events: RailEvent[] = [];
  const intent = session.payment_intent;
  if (session.payment_status === 'paid') {
    events.push({
      type: 'paid',
      payment: idOf(intent) ?? session.id,
      paidNusd: centsToNusd(session.amount_total ?? 0),
      currency: (session.currency ?? '').toUpperCase(),
    });
  } else if (session.status === 'expired') {
    events.push({ type: 'expired' });
  }
  return [...events, ...(typeof intent === 'object' && intent !== null ? refundsOf(intent.latest_charge) : [])];
}

/**
 * Returns the events of an automatic order's payment intent. An intent that needs the card's owner has failed, because
 * the owner is not present.
 */
export function eventsOfIntent(intent: ReadIntent): RailEvent[] {
  switch (intent.status) {
    case 'succeeded':
      return [
        {
          type: 'paid',
          payment: intent.id,
          paidNusd: centsToNusd(intent.amount_received),
          currency: intent.currency.toUpperCase(),
        },
        ...refundsOf(intent.latest_charge),
      ];
    case 'processing':
    case 'requires_confirmation':
    case 'requires_capture':
      return [];
    default:
      return [{ type: 'failed', reason: declineOf(intent) }];
  }
}

const declineOf = ({ last_payment_error: error }: ReadIntent): string =>
  error?.decline_code ?? error?.code ?? 'card_declined';

const refundsOf = (charge: z.infer<typeof latestCharge>): RailEvent[] =>
  typeof charge === 'object' && charge !== null ? eventsOfCharge(charge) : [];

/** Returns the total refunds of a charge so far, as an event. */
export const eventsOfCharge = ({ amount_refunded: cents }: ReadCharge): RailEvent[] =>
  cents > 0 ? [{ type: 'refunded', totalNusd: centsToNusd(cents) }] : [];

const openDisputes: ReadonlySet<string | null | undefined> = new Set([
  ...['needs_response', 'under_review', 'warning_needs_response', 'warning_under_review'],
]);

/** Returns what a dispute says at any time: that it goes on, or how it ended. */
export function eventOfDispute({ id, status, amount }: LinkedObject): RailEvent {
  if (openDisputes.has(status)) return { type: 'noticed', flag: 'disputed', dispute: id };
  return status === 'lost'
    ? { type: 'dispute_lost', totalNusd: centsToNusd(amount), dispute: id }
    : { type: 'dispute_won', dispute: id };
}

/** The payment to ask about disputes. Undefined if Stripe sent no charge, or one without disputes. */
export const disputedPaymentOf = (intent: ReadIntent | ReadSession['payment_intent']): string | undefined =>
  typeof intent === 'object' && typeof intent?.latest_charge === 'object' && intent.latest_charge?.disputed === true
    ? intent.id
    : undefined;
