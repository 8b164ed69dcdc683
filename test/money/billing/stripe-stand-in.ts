import { createHmac } from 'node:crypto';
import { type Call, type Reply, type StandInServer, startStandIn } from '../../kit/stand-in-server.ts';
import { type Fields, Refusal } from './stripe-form.ts';
import { type Charge, type Dispute, type Intent, id, type Session, StripeObjects } from './stripe-objects.ts';
import { stripeRoutes } from './stripe-routes.ts';

export const stripeSecretKey = 'sk_test_stand_in_5f0c2d';
export const stripeWebhookSecret = 'whsec_stand_in_9a1b77';

/** A Stripe that keeps Stripe's rules for the calls that we make: keys, parameters, idempotency, signatures. */
export interface StripeStandIn {
  readonly server: StandInServer;
  /** Idempotency keys whose first call is still running. */
  readonly inUse: Set<string>;
  /** The decline code of the next charges of saved cards. Undefined: they succeed. */
  decline: string | undefined;
  sessionOf(orderId: string): Session;
  intentsOf(orderId: string): Intent[];
  /** Acts as the customer who pays on the checkout page. Returns the session. */
  pay(orderId: string): Session;
  /** Acts as the seller who deletes a customer in the dashboard. */
  deleteCustomer(customer: string): void;
  /** Refunds this many more cents of an order's payment. Returns the charge. */
  refund(orderId: string, cents: number): Charge;
  charge(orderId: string): Charge;
  /** Acts as the customer's bank. Returns the dispute, which replaces the one with this id. */
  dispute(orderId: string, dispute: Pick<Dispute, 'id' | 'status' | 'amount'>): Dispute;
  event(type: string, object: unknown): Fields;
  stop(): Promise<void>;
}

export async function startStripe(): Promise<StripeStandIn> {
  const objects = new StripeObjects();
  const run = stripeRoutes(objects);
  const inUse = new Set<string>();
  /** The request and the answer under each idempotency key. `reply` is `undefined` while the request runs. */
  const answered = new Map<string, { request: string; reply: Reply | undefined }>();

  const handle = (call: Call): Reply => {
    const key = call.headers['idempotency-key'];
    const request = `${call.method} ${call.path} ${call.body}`;
    try {
      if (call.headers.authorization !== `Bearer ${stripeSecretKey}`) {
        throw new Refusal(401, { type: 'invalid_request_error', message: 'Invalid API Key provided' });
      }
      if (call.method !== 'POST' || typeof key !== 'string') return run(call);
      if (inUse.has(key)) {
        throw new Refusal(409, {
          type: 'idempotency_error',
          code: 'idempotency_key_in_use',
          message: 'There is currently another in-progress request using this Idempotent Key.',
        });
      }
      const before = answered.get(key);
      if (before !== undefined && before.request !== request) {
        throw new Refusal(400, {
          type: 'idempotency_error',
          message: 'Keys for idempotent requests can only be used with the same parameters they were first used with.',
        });
      }
      if (before?.reply !== undefined) return { ...before.reply, headers: { 'idempotent-replayed': 'true' } };
      let reply: Reply;
      try {
        reply = run(call);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // Stripe does not keep an answer that failed validation. It keeps those of carried-out requests, declines
        // included.
        if (error.reply.status !== 402) throw error;
        reply = error.reply;
      }
      // A copy, because the object may change after this answer was given.
      answered.set(key, { request, reply: JSON.parse(JSON.stringify(reply)) as Reply });
      return reply;
    } catch (error) {
      if (error instanceof Refusal) return error.reply;
      throw error;
    }
  };

  const server = await startStandIn(handle);
  const standIn: StripeStandIn = {
    server,
    inUse,
    get decline() {
      return objects.decline;
    },
    set decline(code) {
      objects.decline = code;
    },
    sessionOf: (orderId) => objects.sessionOf(orderId),
    intentsOf: (orderId) => objects.intentsOf(orderId),
    pay(orderId) {
      const session = objects.sessionOf(orderId);
      if (session.status !== 'open') throw new Error(`the session is ${session.status}`);
      const card = id('pm');
      const intent = objects.newIntent({
        amount: session.amount_total,
        currency: session.currency,
        customer: session.customer,
        payment_method: card,
        metadata: session.metadata,
      });
      objects.makeCharge(intent);
      if (objects.saving.has(session.id)) objects.customers.get(session.customer ?? '')?.cards.push(card);
      Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: intent.id, url: null });
      return session;
    },
    deleteCustomer: (customer) => void objects.customers.delete(customer),
    refund(orderId, cents) {
      const charge = objects.chargeOf(orderId);
      charge.amount_refunded += cents;
      return { ...charge };
    },
    charge: (orderId) => objects.chargeOf(orderId),
    dispute(orderId, given) {
      const charge = objects.chargeOf(orderId);
      charge.disputed = true;
      const { id: of, currency, payment_intent } = charge;
      const dispute: Dispute = { ...given, object: 'dispute', currency, charge: of, payment_intent };
      // Tests give disputes of different orders the same id.
      objects.disputes.set(`${orderId} ${dispute.id}`, dispute);
      return dispute;
    },
    event: (type, object) => ({
      id: id('evt'),
      object: 'event',
      api_version: '2026-10-28.endive',
      created: Math.floor(Date.now() / 1000),
      livemode: false,
      type,
      data: { object: JSON.parse(JSON.stringify(object)) },
    }),
    stop: () => server.stop(),
  };
  return standIn;
}

/** The `Stripe-Signature` header: HMAC-SHA256 over `<time>.<body>`. */
export function stripeSignature(body: string, { secret = stripeWebhookSecret, atMs = Date.now() } = {}): string {
  const time = Math.floor(atMs / 1000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}
