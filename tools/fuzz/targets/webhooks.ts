import { createHmac } from 'node:crypto';
import {
  BtcpayClient,
  btcpayWebhook,
  type Delivery,
  RailUnavailableError,
  stripeWebhook,
} from '@sotto/control/testing';
import { bytesOf, type FuzzTarget, jsonBytes, promise } from '../engine/target.ts';

const nowMs = 1_750_000_000_000;
const secret = 'whsec_of_the_fuzzer';
const intent = {
  id: 'pi_1',
  status: 'succeeded',
  amount_received: 2500,
  currency: 'usd',
  metadata: { sotto_order_id: 'o1', sotto_automatic: 'true' },
};
const stripe = stripeWebhook({ paymentIntents: { retrieve: async () => intent } } as never, secret);
const invoice = {
  id: 'inv',
  storeId: 's',
  amount: '25.00',
  paidAmount: '25.00',
  currency: 'USD',
  status: 'Settled',
  additionalStatus: 'None',
  metadata: { orderId: 'o1' },
};
const client: Pick<BtcpayClient, 'invoice' | 'paymentStates'> = {
  invoice: async () => invoice,
  paymentStates: async () => ['Settled'],
};
const settings = { url: 'https://b.example', apiKey: 'k', storeId: 's', webhookSecret: secret };
const btcpay = btcpayWebhook(client as BtcpayClient, settings);
/** Sends requests, and gets the fuzzed input as every answer. */
const asking = btcpayWebhook(new BtcpayClient(settings), settings);

const hmac = (text: string | Buffer): string => createHmac('sha256', secret).update(text).digest('hex');
const stripeSignature = (body: Buffer): string => {
  const at = Math.floor(nowMs / 1000);
  return `t=${at},v1=${hmac(Buffer.concat([bytesOf(`${at}.`), body]))}`;
};

/** An amount in an event is a whole number of at least 0. Unreadable amounts are -1, which matches no order. */
function soundDelivery(delivery: Delivery): void {
  if (delivery.kind !== 'events') return;
  for (const event of delivery.events) {
    const amounts = Object.values(event).filter((value) => typeof value === 'bigint');
    promise(
      amounts.every((amount) => amount >= -1n),
      'an amount below zero',
    );
  }
}

const stripeEvents = [
  {
    type: 'checkout.session.completed',
    object: {
      id: 'cs_1',
      status: 'complete',
      payment_status: 'paid',
      amount_total: 2500,
      currency: 'usd',
      payment_intent: 'pi_1',
      metadata: { sotto_order_id: 'o1' },
    },
  },
  {
    type: 'checkout.session.expired',
    object: { id: 'cs_1', status: 'expired', payment_status: 'unpaid', metadata: null },
  },
  { type: 'checkout.session.async_payment_failed', object: { id: 'cs_1', payment_status: 'unpaid' } },
  { type: 'payment_intent.succeeded', object: intent },
  {
    type: 'payment_intent.payment_failed',
    object: {
      ...intent,
      status: 'requires_payment_method',
      last_payment_error: { code: 'card_declined', decline_code: 'stolen_card' },
    },
  },
  {
    type: 'charge.refunded',
    object: { id: 'ch_1', amount_refunded: 100, payment_intent: { id: 'pi_1' }, metadata: {} },
  },
  {
    type: 'charge.dispute.created',
    object: { id: 'dp_1', status: 'needs_response', amount: 2500, payment_intent: 'pi_1' },
  },
  { type: 'charge.dispute.closed', object: { id: 'dp_1', status: 'lost', amount: 2500, payment_intent: 'pi_1' } },
  { type: 'refund.failed', object: { id: 're_1', amount: 1, payment_intent: null } },
].map(({ type, object }) => jsonBytes({ id: 'evt_1', object: 'event', type, data: { object } }));

/** Readers of payment services' deliveries: signed ones in any form, and forged ones. */
export const webhookTargets: readonly FuzzTarget[] = [
  {
    name: 'stripe-webhook',
    grammar: 'json',
    share: 2,
    seeds: stripeEvents,
    words: [
      'checkout.session.completed',
      'charge.refunded',
      'charge.dispute.closed',
      'data',
      'object',
      'metadata',
      'amount_total',
      'payment_intent',
      'status',
      'lost',
      'paid',
    ],
    read: async (body) => soundDelivery(await stripe.read({ body, signature: stripeSignature(body), nowMs })),
  },
  {
    name: 'stripe-signature',
    grammar: 'text',
    share: 2,
    seeds: [bytesOf(stripeSignature(stripeEvents[0] ?? Buffer.alloc(0)))],
    words: ['t=', ',', 'v1=', 'v0=', '1750000000'],
    read: async (signature) => {
      const body = stripeEvents[0] ?? Buffer.alloc(0);
      const delivery = await stripe.read({ body, signature: signature.toString('latin1'), nowMs });
      promise(
        delivery.kind === 'refused' || signature.includes(hmac(Buffer.concat([bytesOf('1750000000.'), body]))),
        'an accepted forged signature',
      );
    },
  },
  {
    name: 'btcpay-webhook',
    grammar: 'json',
    share: 2,
    words: ['type', 'storeId', 'invoiceId', 'InvoiceSettled'],
    seeds: [
      jsonBytes({ type: 'InvoiceSettled', storeId: 's', invoiceId: 'inv' }),
      jsonBytes({ type: 'InvoiceExpired', storeId: 'other' }),
    ],
    read: async (body) => {
      soundDelivery(await btcpay.read({ body, signature: `sha256=${hmac(body)}`, nowMs }));
      const forged = await btcpay.read({
        body,
        signature: `sha256=${hmac(Buffer.concat([body, bytesOf('x')]))}`,
        nowMs,
      });
      promise(forged.kind === 'refused', 'an accepted forged signature');
    },
  },
  {
    name: 'btcpay-invoice',
    grammar: 'json',
    share: 1,
    words: ['amount', 'paidAmount', 'status', 'additionalStatus', 'PaidPartial', 'PaidOver', '1e3', '0.001', 'EUR'],
    seeds: [
      jsonBytes(invoice),
      jsonBytes({ ...invoice, status: 'Expired', additionalStatus: 'PaidPartial', paidAmount: '1.5' }),
    ],
    read: async (input) => {
      const { fetch } = globalThis;
      globalThis.fetch = async () => new Response(Uint8Array.from(input));
      try {
        const body = jsonBytes({ type: 'InvoiceSettled', storeId: 's', invoiceId: 'inv' });
        soundDelivery(await asking.read({ body, signature: `sha256=${hmac(body)}`, nowMs }));
      } catch (error) {
        if (!(error instanceof RailUnavailableError)) throw error;
      } finally {
        globalThis.fetch = fetch;
      }
    },
  },
];
