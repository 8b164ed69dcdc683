import { nanoPerCent, orderTotal } from '@sotto/money';
import type pg from 'pg';
import Stripe from 'stripe';
import {
  type Observed,
  type Opened,
  type PaymentRail,
  type RailEvent,
  type RailOrder,
  RailRefusedError,
  type SavedCards,
} from './rail.ts';
import { askStripe } from './stripe-client.ts';
import {
  disputedPaymentOf,
  eventOfDispute,
  eventsOfIntent,
  eventsOfSession,
  intentSchema,
  linkedSchema,
  metadataNames,
  sessionSchema,
} from './stripe-reading.ts';

export interface StripeRailOptions {
  readonly stripe: Stripe;
  /** Keeps the customer ids of accounts. */
  readonly pool: pg.Pool;
  /** Origin of the page to return to after payment. */
  readonly origin: string;
  readonly now: () => number;
}

const currency = 'usd';

/**
 * Cards through Stripe. People pay in Checkout; automatic orders charge the saved card. Every call that creates
 * something uses the order's id as its idempotency key and sends only data of the order's row. A repeated call is
 * therefore the same call. Amounts are whole cents, because packages and fees are (`billing-plan.ts`).
 */
export class StripeRail implements PaymentRail, SavedCards {
  readonly name = 'card';
  readonly #stripe: Stripe;
  readonly #pool: pg.Pool;
  readonly #origin: string;
  readonly #now: () => number;

  constructor({ stripe, pool, origin, now }: StripeRailOptions) {
    this.#stripe = stripe;
    this.#pool = pool;
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
      const disputes = await this.#disputesOf(disputedPaymentOf(intent));
      return { events: [...eventsOfIntent(intent), ...disputes], processing: intent.status === 'processing' };
    }
    const expand = ['payment_intent.latest_charge'];
    const session = sessionSchema.parse(
      await askStripe(this.#stripe.checkout.sessions.retrieve(reference, { expand })),
    );
    const disputes = await this.#disputesOf(disputedPaymentOf(session.payment_intent));
    return {
      events: [...eventsOfSession(session), ...disputes],
      processing: session.status === 'complete' && session.payment_status === 'unpaid',
    };
  }

  async close({ reference, automatic }: RailOrder): Promise<void> {
    if (reference === undefined || automatic) return;
    await askStripe(this.#stripe.checkout.sessions.expire(reference)).catch((error: unknown) => {
      // It has expired or was just paid. The caller asks for its state next.
      if (!(error instanceof RailRefusedError)) throw error;
    });
  }

  async savedCard(accountId: string): Promise<string | undefined> {
    const customer = await this.#findCustomer(accountId);
    return customer === undefined ? undefined : (await this.#cardsOf(customer))?.[0];
  }

  async #openCheckout(order: RailOrder): Promise<Opened> {
    const customer = order.saveCard ? await this.#customerOf(order.accountId) : undefined;
    const metadata = metadataOf(order);
    const back = (outcome: string): string => `${this.#origin}/billing?order=${order.id}&checkout=${outcome}`;
    const created = await askStripe(
      this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          // Allow only cards, so that a complete session is always paid.
          allowed_payment_method_types: ['card'],
          adaptive_pricing: { enabled: false },
          line_items: [line('Prepaid balance', order.amountNusd), ...feeLine(order)],
          client_reference_id: order.id,
          metadata,
          payment_intent_data: { metadata, ...(order.saveCard ? { setup_future_usage: 'off_session' as const } : {}) },
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

  /** Charges the saved card. A decline is an outcome and not an error. So is a card that does not exist any more. */
  async #charge(order: RailOrder): Promise<Opened> {
    const { card } = order;
    const customer = await this.#findCustomer(order.accountId);
    if (customer === undefined || card === undefined) throw new RailRefusedError('no_saved_card');
    const known = await this.#findCharge(customer, order.id);
    if (known !== undefined) return { reference: known.id, checkoutUrl: undefined, events: eventsOfIntent(known) };
    // The need for this top-up may be over. Do not charge for it late.
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

  /** Finds what disputes of a payment say, because their webhooks may be lost. */
  async #disputesOf(payment: string | undefined): Promise<RailEvent[]> {
    if (payment === undefined) return [];
    const { data } = await askStripe(this.#stripe.disputes.list({ payment_intent: payment, limit: 100 }));
    return data.map((dispute) => eventOfDispute(linkedSchema.parse(dispute)));
  }

  /**
   * Finds the charge already made for an order. The answer may have been lost longer ago than Stripe keeps idempotency
   * keys.
   */
  async #findCharge(customer: string, orderId: string) {
    const { data } = await askStripe(this.#stripe.paymentIntents.list({ customer, limit: 100 }));
    const found = data.find(({ metadata }) => metadata[metadataNames.order] === orderId);
    return found === undefined ? undefined : intentSchema.parse(found);
  }

  async #findCustomer(accountId: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query<{ customer: string }>(
      'select customer from rail_customers where account_id = $1 and rail = $2',
      [accountId, this.name],
    );
    return rows[0]?.customer;
  }

  /** Returns the newest card of a customer, if there is one. Undefined: the customer was deleted at Stripe. */
  async #cardsOf(customer: string): Promise<readonly string[] | undefined> {
    const listed = this.#stripe.customers.listPaymentMethods(customer, { type: 'card', limit: 1 });
    try {
      return (await askStripe(listed)).data.map(({ id }) => id);
    } catch (error) {
      if (error instanceof RailRefusedError && error.code === 'resource_missing') return undefined;
      throw error;
    }
  }

  /**
   * Returns the customer id of an account. Creates it if there is none, or if it was deleted at Stripe; the first that is
   * stored stays.
   */
  async #customerOf(accountId: string): Promise<string> {
    const known = await this.#findCustomer(accountId);
    if (known !== undefined && (await this.#cardsOf(known)) !== undefined) return known;
    // With the key that created the deleted customer, Stripe could return that customer again.
    const idempotencyKey = known === undefined ? `customer:${accountId}` : `customer:${accountId}:${known}`;
    const made = await askStripe(
      this.#stripe.customers.create({ metadata: { [metadataNames.account]: accountId } }, { idempotencyKey }),
    );
    await this.#pool.query(
      `insert into rail_customers (account_id, rail, customer) values ($1, $2, $3)
       on conflict (account_id, rail) do update set customer = excluded.customer where rail_customers.customer = $4`,
      [accountId, this.name, made.id, known ?? null],
    );
    return (await this.#findCustomer(accountId)) ?? made.id;
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
