import { randomBytes } from 'node:crypto';
import type { Fields } from './stripe-form.ts';

/** What Stripe keeps: the objects of its API, as far as our calls and its events contain them. */

export interface Charge {
  id: string;
  object: 'charge';
  amount: number;
  amount_refunded: number;
  disputed: boolean;
  currency: string;
  payment_intent: string;
  metadata: Record<string, string>;
}

export interface Dispute {
  id: string;
  object: 'dispute';
  status: string;
  amount: number;
  currency: string;
  charge: string;
  payment_intent: string;
}

export interface Intent {
  id: string;
  object: 'payment_intent';
  status: string;
  amount: number;
  amount_received: number;
  currency: string;
  customer: string | null;
  payment_method: string | null;
  metadata: Record<string, string>;
  latest_charge: string | null;
  last_payment_error: { code: string; decline_code?: string } | null;
}

export interface Session {
  id: string;
  object: 'checkout.session';
  url: string | null;
  status: 'open' | 'complete' | 'expired';
  payment_status: 'paid' | 'unpaid';
  amount_total: number;
  currency: string;
  customer: string | null;
  client_reference_id: string | null;
  metadata: Record<string, string>;
  payment_intent: string | null;
}

/** A new id of an object, such as `pi_…`. */
export const id = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;

/** The objects of one Stripe account. */
export class StripeObjects {
  readonly sessions = new Map<string, Session>();
  readonly intents = new Map<string, Intent>();
  readonly charges = new Map<string, Charge>();
  readonly disputes = new Map<string, Dispute>();
  readonly customers = new Map<string, { cards: string[] }>();
  /** Sessions whose card is saved when they are paid. */
  readonly saving = new Set<string>();
  /** The decline code of the next charges of saved cards. Undefined: they succeed. */
  decline: string | undefined;

  /** Charges an intent. */
  makeCharge(intent: Intent): void {
    const charge: Charge = {
      id: id('ch'),
      object: 'charge',
      amount: intent.amount,
      amount_refunded: 0,
      disputed: false,
      currency: intent.currency,
      payment_intent: intent.id,
      // A copy of the intent's metadata, made with the charge, as at Stripe.
      metadata: { ...intent.metadata },
    };
    this.charges.set(charge.id, charge);
    intent.latest_charge = charge.id;
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
  }

  newIntent(fields: Pick<Intent, 'amount' | 'currency' | 'customer' | 'payment_method' | 'metadata'>): Intent {
    const intent: Intent = {
      id: id('pi'),
      object: 'payment_intent',
      status: 'requires_payment_method',
      amount_received: 0,
      latest_charge: null,
      last_payment_error: null,
      ...fields,
    };
    this.intents.set(intent.id, intent);
    return intent;
  }

  /** An intent with the parts that a call asks to expand. */
  shownIntent(intent: Intent, expand: readonly string[], prefix = ''): Fields {
    return {
      ...intent,
      latest_charge:
        expand.includes(`${prefix}latest_charge`) && intent.latest_charge !== null
          ? this.charges.get(intent.latest_charge)
          : intent.latest_charge,
    };
  }

  sessionOf(orderId: string): Session {
    const found = [...this.sessions.values()].filter(({ client_reference_id }) => client_reference_id === orderId);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} sessions of one order`);
    return found[0];
  }

  intentsOf(orderId: string): Intent[] {
    return [...this.intents.values()].filter(({ metadata }) => metadata.sotto_order_id === orderId);
  }

  chargeOf(orderId: string): Charge {
    const charge = this.charges.get(this.intentsOf(orderId)[0]?.latest_charge ?? '');
    if (charge === undefined) throw new Error('it was not paid');
    return charge;
  }
}
