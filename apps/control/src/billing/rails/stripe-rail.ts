import { nanoPerCent, orderTotal } from '@sotto/money';
import Stripe from 'stripe';
import type { Observed, Opened, PaymentRail, RailEvent, RailOrder, SavedCards } from './rail.ts';
import { RailRefusedError } from './rail.ts';
import { askStripe } from './stripe-client.ts';
import { eventsOfIntent, eventsOfSession, intentSchema, metadataNames, sessionSchema } from './stripe-reading.ts';

/** Who an account is at a rail. */
export interface CustomerBook {
  find(accountId: string): Promise<string | undefined>;
  /** Keeps the first that is told of, and answers it. */
  keep(accountId: string, customer: string): Promise<string>;
}

export interface StripeRailOptions {
  readonly stripe: Stripe;
  readonly customers: CustomerBook;
  /** Where people come back to. */
  readonly origin: string;
  readonly now: () => number;
}

const currency = 'usd';

/**
 * Cards through Stripe: orders of people by Checkout, automatic ones by charging the saved card. Every call that makes
 * something carries the order's id as its idempotency key and only what the order's row says, so that a repeated one is
 * the same one. Amounts are whole cents: packages and fees are (`billing-file.ts`).
 */
export class StripeRail implements PaymentRail, SavedCards {
  readonly name = 'card';
  readonly #stripe: Stripe;
  readonly #customers: CustomerBook;
  readonly #origin: string;
  readonly #now: () => number;

  constructor({ stripe, customers, origin, now }: StripeRailOptions) {
    this.#stripe = stripe;
    this.#customers = customers;
    this.#origin = origin;
    this.#now = now;
  }

  async open(order: RailOrder): Promise<Opened> {
    return order.automatic ? this.#charge(order) : this.#openCheckout(order);
  }

  async observe(order: RailOrder): Promise<Observed> {
    const { reference } = order;
    if (reference === undefined) return { events: [], processing: false };
    if (order.automatic) {
      const expand = ['latest_charge'];
      const intent = intentSchema.parse(await askStripe(this.#stripe.paymentIntents.retrieve(reference, { expand })));
      return { events: eventsOfIntent(intent), processing: intent.status === 'processing' };
    }
    const expand = ['payment_intent.latest_charge'];
    const session = sessionSchema.parse(
      await askStripe(this.#stripe.checkout.sessions.retrieve(reference, { expand })),
    );
    return {
      events: eventsOfSession(session),
      processing: session.status === 'complete' && session.payment_status === 'unpaid',
    };
  }

  async close({ reference, automatic }: RailOrder): Promise<void> {
    if (reference === undefined || automatic) return;
    await askStripe(this.#stripe.checkout.sessions.expire(reference)).catch((error: unknown) => {
      // It has expired, or was paid in this moment: what it is now is asked next.
      if (!(error instanceof RailRefusedError)) throw error;
    });
  }

  async savedCard(accountId: string): Promise<string | undefined> {
    const customer = await this.#customers.find(accountId);
    if (customer === undefined) return undefined;
    const cards = await askStripe(this.#stripe.customers.listPaymentMethods(customer, { type: 'card', limit: 1 }));
    return cards.data[0]?.id;
  }

  async #openCheckout(order: RailOrder): Promise<Opened> {
    const customer = order.saveCard ? await this.#customerOf(order.accountId) : undefined;
    const metadata = metadataOf(order);
    const back = (outcome: string): string => `${this.#origin}/billing?order=${order.id}&checkout=${outcome}`;
    const created = await askStripe(
      this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          // Cards only, so that a session that is complete is paid.
          allowed_payment_method_types: ['card'],
          adaptive_pricing: { enabled: false },
          line_items: [line('Prepaid balance', order.amountNusd), ...feeLine(order)],
          client_reference_id: order.id,
          metadata,
          payment_intent_data: {
            metadata,
            ...(order.saveCard ? { setup_future_usage: 'off_session' as const } : {}),
          },
          ...(customer === undefined ? {} : { customer }),
          success_url: back('done'),
          cancel_url: back('left'),
        },
        { idempotencyKey: `order:${order.id}` },
      ),
    );
    const session = sessionSchema.parse(created);
    return { reference: session.id, checkoutUrl: session.url ?? undefined, events: eventsOfSession(session) };
  }

  /** Charges the saved card. A decline is an outcome, not an error; so is an order whose card is not there any more. */
  async #charge(order: RailOrder): Promise<Opened> {
    const { card } = order;
    const customer = await this.#customers.find(order.accountId);
    if (customer === undefined || card === undefined) throw new RailRefusedError('no_saved_card');
    const known = await this.#findCharge(customer, order.id);
    if (known !== undefined) return { reference: known.id, checkoutUrl: undefined, events: eventsOfIntent(known) };
    // Nobody is charged for a need of yesterday.
    if (order.expiresAt.getTime() <= this.#now()) throw new RailRefusedError('too_late');
    try {
      const intent = intentSchema.parse(
        await this.#stripe.paymentIntents.create(
          {
            amount: Number(orderTotal(order) / nanoPerCent),
            currency,
            customer,
            payment_method: card,
            allowed_payment_method_types: ['card'],
            off_session: true,
            confirm: true,
            description: 'Prepaid balance, automatic top-up',
            metadata: metadataOf(order),
          },
          { idempotencyKey: `order:${order.id}` },
        ),
      );
      return { reference: intent.id, checkoutUrl: undefined, events: eventsOfIntent(intent) };
    } catch (error) {
      const declined = declinedBy(error);
      if (declined !== undefined) return declined;
      return askStripe(Promise.reject(error));
    }
  }

  /** The charge that was made for an order, where its answer was lost longer ago than idempotency keys are kept. */
  async #findCharge(customer: string, orderId: string) {
    const { data } = await askStripe(this.#stripe.paymentIntents.list({ customer, limit: 100 }));
    const found = data.find(({ metadata }) => metadata[metadataNames.order] === orderId);
    return found === undefined ? undefined : intentSchema.parse(found);
  }

  async #customerOf(accountId: string): Promise<string> {
    const known = await this.#customers.find(accountId);
    if (known !== undefined) return known;
    const made = await askStripe(
      this.#stripe.customers.create(
        { metadata: { [metadataNames.account]: accountId } },
        { idempotencyKey: `customer:${accountId}` },
      ),
    );
    return this.#customers.keep(accountId, made.id);
  }
}

function declinedBy(error: unknown): Opened | undefined {
  if (!(error instanceof Stripe.errors.StripeCardError)) return undefined;
  const reason = error.decline_code ?? error.code ?? 'card_declined';
  const failed: RailEvent = { type: 'failed', reason };
  const reference = error.payment_intent?.id;
  if (reference === undefined) throw new RailRefusedError(reason, error);
  return { reference, checkoutUrl: undefined, events: [failed] };
}

const metadataOf = (order: RailOrder): Record<string, string> => ({
  [metadataNames.order]: order.id,
  ...(order.automatic ? { [metadataNames.automatic]: 'true' } : {}),
});

const line = (name: string, amountNusd: bigint) => ({
  quantity: 1,
  price_data: { currency, unit_amount: Number(amountNusd / nanoPerCent), product_data: { name } },
});

const feeLine = ({ feeNusd }: RailOrder) => (feeNusd > 0n ? [line('Fee', feeNusd)] : []);
