import type { Call, Reply } from '../../kit/stand-in-server.ts';
import { allow, type Fields, invalid, missing, parseForm, Refusal } from './stripe-form.ts';
import { id, type Session, type StripeObjects } from './stripe-objects.ts';

/** Returns what carries out a call of Stripe's API on these objects. Throws a `Refusal` where Stripe refuses. */
export function stripeRoutes(objects: StripeObjects): (call: Call) => Reply {
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
        objects.customers.set(customer, { cards: [] });
        return { id: customer, object: 'customer', metadata: body.metadata ?? {} };
      },
    ],
    [
      'GET',
      /^\/v1\/customers\/(\w+)\/payment_methods$/,
      ([customer = ''], { query }) => {
        const { cards } = objects.customers.get(customer) ?? missing();
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
        if (customer !== null && !objects.customers.has(customer)) missing();
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
        objects.sessions.set(session.id, session);
        if (intentData.setup_future_usage === 'off_session') objects.saving.add(session.id);
        return session;
      },
    ],
    [
      'GET',
      /^\/v1\/checkout\/sessions\/(\w+)$/,
      ([sessionId = ''], { query }) => {
        const session = objects.sessions.get(sessionId) ?? missing();
        const expand = query.getAll('expand[0]');
        const intent = session.payment_intent === null ? undefined : objects.intents.get(session.payment_intent);
        const wanted = expand.some((path) => path.startsWith('payment_intent'));
        return {
          ...session,
          payment_intent:
            wanted && intent ? objects.shownIntent(intent, expand, 'payment_intent.') : session.payment_intent,
        };
      },
    ],
    [
      'POST',
      /^\/v1\/checkout\/sessions\/(\w+)\/expire$/,
      ([sessionId = '']) => {
        const session = objects.sessions.get(sessionId) ?? missing();
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
        const customer = objects.customers.get(String(body.customer)) ?? missing();
        if (!customer.cards.includes(String(body.payment_method))) missing();
        const intent = objects.newIntent({
          amount: Number(body.amount),
          currency: String(body.currency),
          customer: String(body.customer),
          payment_method: String(body.payment_method),
          metadata: (body.metadata ?? {}) as Record<string, string>,
        });
        if (objects.decline === undefined) {
          objects.makeCharge(intent);
          return intent;
        }
        const code = objects.decline === 'authentication_required' ? 'authentication_required' : 'card_declined';
        intent.last_payment_error = { code, decline_code: objects.decline };
        throw new Refusal(402, {
          type: 'card_error',
          code,
          decline_code: objects.decline,
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
        data: [...objects.intents.values()].filter(({ customer }) => customer === query.get('customer')),
      }),
    ],
    [
      'GET',
      /^\/v1\/disputes$/,
      (_, { query }) => ({
        object: 'list',
        has_more: false,
        data: [...objects.disputes.values()].filter(
          ({ payment_intent }) => payment_intent === query.get('payment_intent'),
        ),
      }),
    ],
    [
      'GET',
      /^\/v1\/payment_intents\/(\w+)$/,
      ([intentId = ''], { query }) =>
        objects.shownIntent(objects.intents.get(intentId) ?? missing(), query.getAll('expand[0]')),
    ],
  ];

  return (call) => {
    for (const [method, pattern, handler] of routes) {
      const found = method === call.method ? pattern.exec(call.path) : null;
      if (found === null) continue;
      return { status: 200, body: handler(found.slice(1), call, parseForm(call.body)) };
    }
    throw new Refusal(404, { type: 'invalid_request_error', message: 'Unrecognized request URL' });
  };
}
