import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { creditAccount } from '@sotto/control';
import {
  type BillingSettingsAnswer,
  balanceAnswerSchema,
  billingSettingsStateSchema,
  type OrderAnswer,
  orderAnswerSchema,
  type ReceiptAnswer,
  receiptPageSchema,
  type WebhookAnswer,
  webhookOutcomeSchema,
} from '@sotto/wire';
import { expect } from 'vitest';
import { type Answer, get, type HeaderMap, post, send } from '../../contract/conformance/client.ts';
import type { PlanesSetup } from '../../kit/both-planes.ts';
import { startProvider } from '../../kit/provider.ts';
import { type Service, until } from '../../kit/service.ts';
import {
  type BtcpayStandIn,
  btcpayApiKey,
  btcpaySignature,
  btcpayStoreId,
  btcpayWebhookSecret,
  startBtcpay,
} from './btcpay-stand-in.ts';
import {
  type StripeStandIn,
  startStripe,
  stripeSecretKey,
  stripeSignature,
  stripeWebhookSecret,
} from './stripe-stand-in.ts';

export const billingYaml = `packages:
  - {id: small, amount: 10}
  - {id: medium, amount: 25}
  - {id: large, amount: 100}
limits: {max_balance: 400, max_open_orders: 3, max_per_day: 300}
fee: {percent: 5, fixed: 0, minimum: 0.5}
order_lifetime_minutes: 60
terms: {text: Prepaid., url: https://seller.example/terms}
seller: {name: Seller <b>&</b> Sons, address: 1 Street, tax_id: "X-1"}
`;

/** Both payment services, and what a service needs to be their customer. */
export interface PaymentWorld {
  readonly stripe: StripeStandIn;
  readonly btcpay: BtcpayStandIn;
  readonly setup: PlanesSetup;
}

/** A payment service each, a provider that answers chats, and the files and variables of a service that uses them. */
export async function startPaymentWorld(environment: Readonly<Record<string, string>> = {}): Promise<PaymentWorld> {
  const [stripe, btcpay, provider] = await Promise.all([startStripe(), startBtcpay(), startProvider()]);
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-billing-'));
  const billingFile = join(folder, 'billing.yaml');
  await writeFile(billingFile, billingYaml);
  return {
    stripe,
    btcpay,
    setup: {
      registry: `providers:\n  - {id: acme, name: Acme, adapter: openai, base_url: "${provider.baseUrl}", privacy_class: private}\n`,
      catalog: `models:
  - id: acme/small
    model_type: text
    context_length: 8000
    max_output_tokens: 1000
    routes: [{provider: acme, upstream_model: small-v1, privacy_class: private, pricing: {input: 0.5, output: 1.5}}]
`,
      environment: {
        BILLING_FILE: billingFile,
        BILLING_TEST_RAIL: 'on',
        STRIPE_SECRET_KEY: stripeSecretKey,
        STRIPE_WEBHOOK_SECRET: stripeWebhookSecret,
        STRIPE_API_URL: stripe.server.url,
        BTCPAY_URL: btcpay.server.url,
        BTCPAY_API_KEY: btcpayApiKey,
        BTCPAY_STORE_ID: btcpayStoreId,
        BTCPAY_WEBHOOK_SECRET: btcpayWebhookSecret,
        ...environment,
      },
      async stop() {
        await Promise.all([stripe.stop(), btcpay.server.stop(), provider.stop()]);
        await rm(folder, { recursive: true, force: true });
      },
    },
  };
}

/** Somebody with an account and a session. */
export interface Person {
  readonly email: string;
  readonly accountId: string;
  readonly session: HeaderMap;
}

export async function signUp({ controlUrl, pool }: Service): Promise<Person> {
  const [email, password] = [`${randomUUID()}@people.example`, `pw-${randomUUID()}`];
  const made = await post(`${controlUrl}/auth/sign-up/email`, { name: 'Ann <i>Other</i>', email, password });
  expect(made.status, made.text).toBe(200);
  const signedIn = await post(`${controlUrl}/auth/sign-in/email`, { email, password });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .join('; ');
  const { rows } = await pool.query<{ id: string }>(
    'select a.id from accounts a join auth_user u on u.id = a.user_id where u.email = $1',
    [email],
  );
  return { email, accountId: rows[0]?.id ?? '', session: { cookie } };
}

/** What people and payment services do to the service, and what can be seen of it from outside. */
export class Till {
  readonly #service: Service;
  readonly #world: PaymentWorld;

  constructor(service: Service, world: PaymentWorld) {
    this.#service = service;
    this.#world = world;
  }

  url(path: string): string {
    return `${this.#service.controlUrl}${path}`;
  }

  place(person: Person, body: object): Promise<Answer> {
    return post(this.url('/billing/orders'), body, person.session);
  }

  async order(person: Person, body: object): Promise<OrderAnswer> {
    const answer = await this.place(person, body);
    expect(answer.status, answer.text).toBe(201);
    return orderAnswerSchema.parse(answer.json);
  }

  async read(person: Person, orderId: string): Promise<OrderAnswer> {
    const answer = await get(this.url(`/billing/orders/${orderId}`), person.session);
    expect(answer.status, answer.text).toBe(200);
    return orderAnswerSchema.parse(answer.json);
  }

  async becomes(person: Person, orderId: string, status: OrderAnswer['status']): Promise<OrderAnswer> {
    await until(async () => (await this.read(person, orderId)).status === status, `the order is ${status}`);
    return this.read(person, orderId);
  }

  async balance(person: Person): Promise<number> {
    const answer = await get(this.url('/balance'), person.session);
    expect(answer.status, answer.text).toBe(200);
    return balanceAnswerSchema.parse(answer.json).available;
  }

  async receipts(person: Person): Promise<readonly ReceiptAnswer[]> {
    const answer = await get(this.url('/billing/receipts?limit=100'), person.session);
    expect(answer.status, answer.text).toBe(200);
    return receiptPageSchema.parse(answer.json).data;
  }

  async settings(person: Person): Promise<BillingSettingsAnswer> {
    const answer = await get(this.url('/billing/settings'), person.session);
    expect(answer.status, answer.text).toBe(200);
    return billingSettingsStateSchema.parse(answer.json);
  }

  putSettings(person: Person, body: object): Promise<Answer> {
    return send('PUT', this.url('/billing/settings'), { headers: person.session, body });
  }

  /** Delivers an event of Stripe's, signed well unless told otherwise. */
  deliver(event: object, how: { readonly secret?: string; readonly atMs?: number; readonly signature?: string } = {}) {
    const body = JSON.stringify(event);
    const { signature = stripeSignature(body, how) } = how;
    return post(this.url('/billing/webhooks/stripe'), body, { 'stripe-signature': signature });
  }

  async told(event: object): Promise<WebhookAnswer> {
    return explained(await this.deliver(event));
  }

  /** Pays an order at the checkout page; answers the event that Stripe sends of it. */
  payByCard(orderId: string): object {
    return this.#world.stripe.event('checkout.session.completed', this.#world.stripe.pay(orderId));
  }

  deliverBtcpay(body: object, signature?: string): Promise<Answer> {
    const text = JSON.stringify(body);
    return post(this.url('/billing/webhooks/btcpay'), text, { 'btcpay-sig': signature ?? btcpaySignature(text) });
  }

  async toldByBtcpay(body: object): Promise<WebhookAnswer> {
    return explained(await this.deliverBtcpay(body));
  }

  /** Lets an order's next look at its rail be due now; `over`: and its time be up. */
  async due(orderId: string, { over = false } = {}): Promise<void> {
    await this.#service.pool.query(
      `update orders set next_check_at = now(), expires_at = case when $2 then now() else expires_at end where id = $1`,
      [orderId, over],
    );
  }

  /** What the ledger says of an account's top-ups and refunds, in nano-USD, oldest first. */
  async ledger({ accountId }: Person): Promise<{ kind: string; amount: bigint }[]> {
    const { rows } = await this.#service.pool.query<{ kind: string; amount_nusd: string }>(
      `select t.kind, e.amount_nusd from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
       where e.ledger_account = 'wallet:' || $1 and t.kind in ('top_up', 'refund') order by e.id`,
      [accountId],
    );
    return rows.map(({ kind, amount_nusd }) => ({ kind, amount: BigInt(amount_nusd) }));
  }

  /** Gives money that no order paid for. */
  async give(person: Person, usd: number): Promise<void> {
    const before = await this.balance(person);
    await creditAccount(this.#service.pool, {
      accountId: person.accountId,
      amountNusd: BigInt(Math.round(usd * 1e9)),
      kind: 'adjustment',
      reference: `test:${randomUUID()}`,
    });
    await until(async () => (await this.balance(person)) === before + usd, 'the money is there');
  }
}

/** A webhook's answer: 200, and it says what became of it. */
export function explained(answer: Answer): WebhookAnswer {
  expect(answer.status, answer.text).toBe(200);
  const told = webhookOutcomeSchema.parse(answer.json);
  expect(told.message.length).toBeGreaterThan(10);
  return told;
}
