/** The tests of billing need more than a catalog: stand-ins for Stripe and BTCPay, and a till that pays, delivers webhooks and reads the books. */

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BillingSettingsAnswer, billingSettingsStateSchema } from '@sotto/contract/control/billing';
import {
  type OrderAnswer,
  orderAnswerSchema,
  orderPageSchema,
  type ReceiptAnswer,
  receiptPageSchema,
} from '@sotto/contract/control/orders';
import { type WebhookAnswer, webhookOutcomeSchema } from '@sotto/contract/control/payment-webhooks';
import { balanceAnswerSchema } from '@sotto/contract/control/usage';
import { creditAccount } from '@sotto/control/testing';
import { expect } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { type BtcpayStandIn, btcpayEnvironment, btcpaySignature, startBtcpay } from '../../kit/btcpay-stand-in.ts';
import { peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import { type Service, until } from '../../kit/service.ts';
import { signedUp } from '../../kit/signed-up.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import {
  type StripeStandIn,
  startStripe,
  stripeSecretKey,
  stripeSignature,
  stripeWebhookSecret,
} from './stripe-stand-in.ts';

const billingYaml = `packages:
  - {id: small, amount: 10}
  - {id: medium, amount: 25}
  - {id: large, amount: 100}
limits: {max_balance: 400, max_open_orders: 3, max_per_day: 300}
fee: {percent: 5, fixed: 0, minimum: 0.5}
order_lifetime_minutes: 60
terms: {text: Prepaid., url: https://seller.example/terms}
seller: {name: Seller <b>&</b> Sons, address: 1 Street, tax_id: "X-1"}
`;

/** Both payment services. */
export interface PaymentWorld {
  readonly stripe: StripeStandIn;
  readonly btcpay: BtcpayStandIn;
}

/** Starts both payment services. Resolves to a service that is their customer. */
export async function startPayments() {
  const [stripe, btcpay] = await Promise.all([startStripe(), startBtcpay()]);
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-billing-'));
  const billingFile = join(folder, 'billing.yaml');
  await writeFile(billingFile, billingYaml);
  return {
    ...oneModel,
    standIns: { stripe, btcpay },
    environment: {
      BILLING_FILE: billingFile,
      BILLING_TEST_RAIL: 'on',
      STRIPE_SECRET_KEY: stripeSecretKey,
      STRIPE_WEBHOOK_SECRET: stripeWebhookSecret,
      STRIPE_API_URL: stripe.server.url,
      ...btcpayEnvironment(btcpay),
    },
    async stop() {
      await Promise.all([stripe.stop(), btcpay.server.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A person with an account and a session. */
export interface Person {
  readonly email: string;
  readonly accountId: string;
  readonly session: HeaderMap;
}

export async function signUp(service: Service): Promise<Person> {
  const { email, password, accountId } = await signedUp(service.pool, { name: 'Ann <i>Other</i>' });
  return { email, accountId, session: await peopleOf({ service }).signIn({ email, password }) };
}

/** The actions of people and payment services towards the service, and its state as seen from outside. */
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

  /** Waits until the balance is this. Redis, which answers, has it a moment after the ledger. */
  async hasBalance(person: Person, usd: number): Promise<void> {
    await until(async () => (await this.balance(person)) === usd, `the balance is ${usd} USD`);
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

  /** Delivers a Stripe event. The signature is valid unless `how` says otherwise. */
  deliver(event: object, how: { readonly secret?: string; readonly atMs?: number; readonly signature?: string } = {}) {
    const body = JSON.stringify(event);
    const { signature = stripeSignature(body, how) } = how;
    return post(this.url('/billing/webhooks/stripe'), body, { 'stripe-signature': signature });
  }

  async told(event: object): Promise<WebhookAnswer> {
    return explained(await this.deliver(event));
  }

  /** Pays an order on the checkout page. Returns the event that Stripe sends about it. */
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

  /**
   * Places an order, and kills control after the payment service has carried it out and before control has its answer.
   * Resolves to the order once control runs again.
   */
  async placeAndKill(person: Person, body: object, service: 'stripe' | 'btcpay', path: string) {
    const { server } = this.#world[service];
    server.trouble = 'answers_are_lost';
    const carriedOut = server.carriedOut(path);
    const placing = this.place(person, body).catch(() => undefined);
    await carriedOut;
    await this.#service.control.kill9();
    await placing;
    server.trouble = undefined;
    await this.#service.control.restart();
    const { data } = orderPageSchema.parse((await get(this.url('/billing/orders'), person.session)).json);
    const [order] = data;
    if (order === undefined || data.length > 1) throw new Error(`${data.length} orders are listed`);
    return order;
  }

  /** Makes the order's next look at its rail due now. With `over`, the order also expires. */
  async due(orderId: string, { over = false } = {}): Promise<void> {
    await this.#service.pool.query(
      `update orders set next_check_at = now(), expires_at = case when $2 then now() else expires_at end where id = $1`,
      [orderId, over],
    );
  }

  /** The ledger's top-ups and refunds of an account, in nano-USD, oldest first. */
  async ledger({ accountId }: Person): Promise<{ kind: string; amount: bigint }[]> {
    const { rows } = await this.#service.pool.query<{ kind: string; amount_nusd: string }>(
      `select t.kind, e.amount_nusd from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
       where e.ledger_account = 'wallet:' || $1 and t.kind in ('top_up', 'refund') order by e.id`,
      [accountId],
    );
    return rows.map(({ kind, amount_nusd }) => ({ kind, amount: BigInt(amount_nusd) }));
  }

  /** Credits an account without an order. */
  async give(person: Person, usd: number): Promise<void> {
    const before = await this.balance(person);
    await creditAccount(this.#service.pool, {
      accountId: person.accountId,
      amountNusd: BigInt(Math.round(usd * 1e9)),
      kind: 'adjustment',
      reference: `test:${randomUUID()}`,
    });
    await this.hasBalance(person, before + usd);
  }
}

/** Checks that a webhook's answer is 200 and returns it. The answer says what became of the webhook. */
function explained(answer: Answer): WebhookAnswer {
  expect(answer.status, answer.text).toBe(200);
  const told = webhookOutcomeSchema.parse(answer.json);
  expect(told.message.length).toBeGreaterThan(10);
  return told;
}

/** The fixtures of the billing tests. Use them only within tests and hooks. */
export interface BillingSuite {
  readonly service: Service;
  readonly world: PaymentWorld;
  readonly till: Till;
  /** Creates a new person. */
  person(): Promise<Person>;
  /** Creates a new person, and returns what a test about one person uses. */
  visited(): Promise<Visit>;
  /** Creates a new person who places this order. */
  ordered(body: object): Promise<Visit & { readonly order: OrderAnswer; readonly id: string }>;
}

interface Visit extends Pick<BillingSuite, 'service' | 'world' | 'till'> {
  readonly person: Person;
}

/** Runs tests of billing against the real service, with local stand-ins for the payment services. */
export async function describeBilling(
  name: string,
  tests: (suite: BillingSuite) => void,
  options: { readonly planes?: readonly ('one' | 'two')[] } = {},
): Promise<void> {
  await describeStage(
    name,
    startPayments,
    (stage) => {
      const suite: BillingSuite = {
        get service() {
          return stage.service;
        },
        get world() {
          return stage.standIns;
        },
        get till() {
          return new Till(stage.service, stage.standIns);
        },
        person: () => signUp(stage.service),
        async visited() {
          const { service, world, till } = suite;
          return { service, world, till, person: await signUp(service) };
        },
        async ordered(body) {
          const visit = await suite.visited();
          const order = await visit.till.order(visit.person, body);
          return { ...visit, order, id: order.id };
        },
      };
      tests(suite);
    },
    options,
  );
}
