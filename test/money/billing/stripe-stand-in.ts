// Longer than 400 lines, because all its routes change the same charges, sessions, intents and disputes.

import { createHmac, randomBytes } from 'node:crypto';
import { type Call, type Reply, type StandInServer, startStandIn } from '../../kit/stand-in-server.ts';
import { allow, type Fields, invalid, missing, parseForm, Refusal } from './stripe-form.ts';

export const stripeSecretKey = 'sk_test_stand_in_5f0c2d';
export const stripeWebhookSecret = 'whsec_stand_in_9a1b77';

interface Charge {
  id: string;
  object: 'charge';
  amount: number;
  amount_refunded: number;
  disputed: boolean;
  currency: string;
  payment_intent: string;
  metadata: Record<string, string>;
}

interface Dispute {
  id: string;
  object: 'dispute';
  status: string;
  amount: number;
  currency: string;
  charge: string;
  payment_intent: string;
}

interface Intent {
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

interface Session {
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

const id = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;

export async function startStripe(): Promise<StripeStandIn> {
  const sessions = new Map<string, Session>();
  const inUse = new Set<string>();
  const intents = new Map<string, Intent>();
  const charges = new Map<string, Charge>();
  const disputes = new Map<string, Dispute>();
  const customers = new Map<string, { cards: string[] }>();
  /** The request and the answer under each idempotency key. `reply` is `undefined` while the request runs. */
  const answered = new Map<string, { request: string; reply: Reply | undefined }>();
  const saving = new Set<string>();

  const makeCharge = (intent: Intent): void => {
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
    charges.set(charge.id, charge);
    intent.latest_charge = charge.id;
    intent.status = 'succeeded';
    intent.amount_received = intent.amount;
  };
  const newIntent = (
    fields: Pick<Intent, 'amount' | 'currency' | 'customer' | 'payment_method' | 'metadata'>,
  ): Intent => {
    const intent: Intent = {
      id: id('pi'),
      object: 'payment_intent',
      status: 'requires_payment_method',
      amount_received: 0,
      latest_charge: null,
      last_payment_error: null,
      ...fields,
    };
    intents.set(intent.id, intent);
    return intent;
  };
  const shownIntent = (intent: Intent, expand: readonly string[], prefix = ''): Fields => ({
    ...intent,
    latest_charge:
      expand.includes(`${prefix}latest_charge`) && intent.latest_charge !== null
        ? charges.get(intent.latest_charge)
        : intent.latest_charge,
  });

  const routes: readonly [
    method: string,
    pattern: RegExp,
    run: (found: string[], call: Call, body: Fields) => unknown,
  ][] = [
    [
      'POST',
      /^\/v1\/customers$/,
      (_, __, body) => {
        allow(body, ['metadata']);
        const customer = id('cus');
        customers.set(customer, { cards: [] });
        return { id: customer, object: 'customer', metadata: body.metadata ?? {} };
      },
    ],
    [
      'GET',
      /^\/v1\/customers\/(\w+)\/payment_methods$/,
      ([customer = ''], { query }) => {
        const { cards } = customers.get(customer) ?? missing();
        const limit = Number(query.get('limit') ?? 10);
        const data = [...cards].reverse().slice(0, limit);
        return { object: 'list', has_more: false, data: data.map((card) => ({ id: card, object: 'payment_method' })) };
      },
    ],
    [
      'POST',
      /^\/v1\/checkout\/sessions$/,
      (_, __, body) => {
        allow(body, [
          'mode',
          'allowed_payment_method_types',
          'adaptive_pricing',
          'line_items',
          'client_reference_id',
          'metadata',
          'payment_intent_data',
          'customer',
          'success_url',
          'cancel_url',
        ]);
        if (body.mode !== 'payment') invalid('mode');
        for (const name of ['success_url', 'cancel_url']) {
          if (!URL.canParse(String(body[name]))) invalid(`Not a valid URL: ${name}`, { param: name });
        }
        const lines = Object.values((body.line_items ?? {}) as Record<string, Fields>);
        if (lines.length === 0) invalid('line_items');
        const amount = lines.reduce((sum, line) => {
          const price = line.price_data as Fields;
          if (!/^[1-9]\d*$/.test(String(price.unit_amount))) invalid('Invalid integer', { param: 'unit_amount' });
          if (price.currency !== 'usd') invalid('Invalid currency');
          return sum + Number(price.unit_amount) * Number(line.quantity);
        }, 0);
        const customer = (body.customer as string | undefined) ?? null;
        if (customer !== null && !customers.has(customer)) missing();
        const intentData = (body.payment_intent_data ?? {}) as Fields;
        if (intentData.setup_future_usage !== undefined && customer === null) invalid('A customer is needed');
        const session: Session = {
          id: id('cs_test'),
          object: 'checkout.session',
          url: null,
          status: 'open',
          payment_status: 'unpaid',
          amount_total: amount,
          currency: 'usd',
          customer,
          client_reference_id: (body.client_reference_id as string | undefined) ?? null,
          metadata: (body.metadata ?? {}) as Record<string, string>,
          payment_intent: null,
        };
        session.url = `https://checkout.stripe.example/c/pay/${session.id}`;
        sessions.set(session.id, session);
        if (intentData.setup_future_usage === 'off_session') saving.add(session.id);
        return session;
      },
    ],
    [
      'GET',
      /^\/v1\/checkout\/sessions\/(\w+)$/,
      ([sessionId = ''], { query }) => {
        const session = sessions.get(sessionId) ?? missing();
        const expand = query.getAll('expand[0]');
        const intent = session.payment_intent === null ? undefined : intents.get(session.payment_intent);
        const wanted = expand.some((path) => path.startsWith('payment_intent'));
        return {
          ...session,
          payment_intent: wanted && intent ? shownIntent(intent, expand, 'payment_intent.') : session.payment_intent,
        };
      },
    ],
    [
      'POST',
      /^\/v1\/checkout\/sessions\/(\w+)\/expire$/,
      ([sessionId = '']) => {
        const session = sessions.get(sessionId) ?? missing();
        if (session.status !== 'open') invalid('Only open Checkout Sessions can be expired.');
        session.status = 'expired';
        session.url = null;
        return session;
      },
    ],
    [
      'POST',
      /^\/v1\/payment_intents$/,
      (_, __, body) => {
        allow(body, [
          'amount',
          'currency',
          'customer',
          'payment_method',
          'allowed_payment_method_types',
          'off_session',
          'confirm',
          'description',
          'metadata',
        ]);
        if (!/^[1-9]\d*$/.test(String(body.amount))) invalid('Invalid integer', { param: 'amount' });
        const customer = customers.get(String(body.customer)) ?? missing();
        if (!customer.cards.includes(String(body.payment_method))) missing();
        const intent = newIntent({
          amount: Number(body.amount),
          currency: String(body.currency),
          customer: String(body.customer),
          payment_method: String(body.payment_method),
          metadata: (body.metadata ?? {}) as Record<string, string>,
        });
        if (standIn.decline === undefined) {
          makeCharge(intent);
          return intent;
        }
        const code = standIn.decline === 'authentication_required' ? 'authentication_required' : 'card_declined';
        intent.last_payment_error = { code, decline_code: standIn.decline };
        throw new Refusal(402, {
          type: 'card_error',
          code,
          decline_code: standIn.decline,
          message: 'Your card was declined.',
          payment_intent: intent,
        });
      },
    ],
    [
      'GET',
      /^\/v1\/payment_intents$/,
      (_, { query }) => ({
        object: 'list',
        has_more: false,
        data: [...intents.values()].filter(({ customer }) => customer === query.get('customer')),
      }),
    ],
    [
      'GET',
      /^\/v1\/disputes$/,
      (_, { query }) => ({
        object: 'list',
        has_more: false,
        data: [...disputes.values()].filter(({ payment_intent }) => payment_intent === query.get('payment_intent')),
      }),
    ],
    [
      'GET',
      /^\/v1\/payment_intents\/(\w+)$/,
      ([intentId = ''], { query }) => shownIntent(intents.get(intentId) ?? missing(), query.getAll('expand[0]')),
    ],
  ];

  const run = (call: Call): Reply => {
    for (const [method, pattern, handler] of routes) {
      const found = method === call.method ? pattern.exec(call.path) : null;
      if (found === null) continue;
      return { status: 200, body: handler(found.slice(1), call, parseForm(call.body)) };
    }
    throw new Refusal(404, { type: 'invalid_request_error', message: 'Unrecognized request URL' });
  };

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
  const sessionOf = (orderId: string): Session => {
    const found = [...sessions.values()].filter(({ client_reference_id }) => client_reference_id === orderId);
    if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} sessions of one order`);
    return found[0];
  };
  const intentsOf = (orderId: string): Intent[] =>
    [...intents.values()].filter(({ metadata }) => metadata.sotto_order_id === orderId);
  const chargeOf = (orderId: string): Charge => {
    const charge = charges.get(intentsOf(orderId)[0]?.latest_charge ?? '');
    if (charge === undefined) throw new Error('it was not paid');
    return charge;
  };
  const standIn: StripeStandIn = {
    server,
    inUse,
    decline: undefined,
    sessionOf,
    intentsOf,
    pay(orderId) {
      const session = sessionOf(orderId);
      if (session.status !== 'open') throw new Error(`the session is ${session.status}`);
      const card = id('pm');
      const intent = newIntent({
        amount: session.amount_total,
        currency: session.currency,
        customer: session.customer,
        payment_method: card,
        metadata: session.metadata,
      });
      makeCharge(intent);
      if (saving.has(session.id)) customers.get(session.customer ?? '')?.cards.push(card);
      Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: intent.id, url: null });
      return session;
    },
    deleteCustomer: (customer) => void customers.delete(customer),
    refund(orderId, cents) {
      const charge = chargeOf(orderId);
      charge.amount_refunded += cents;
      return { ...charge };
    },
    charge: chargeOf,
    dispute(orderId, given) {
      const charge = chargeOf(orderId);
      charge.disputed = true;
      const { id: of, currency, payment_intent } = charge;
      const dispute: Dispute = { ...given, object: 'dispute', currency, charge: of, payment_intent };
      // Tests give disputes of different orders the same id.
      disputes.set(`${orderId} ${dispute.id}`, dispute);
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
