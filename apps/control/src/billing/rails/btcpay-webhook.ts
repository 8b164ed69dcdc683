import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseJson } from '@sotto/wire';
import * as z from 'zod';
import type { BtcpaySettings } from '../billing-settings.ts';
import type { BtcpayClient } from './btcpay-client.ts';
import { observeInvoice } from './btcpay-rail.ts';
import type { Delivery, WebhookReader } from './rail.ts';

const deliverySchema = z.looseObject({
  type: z.string(),
  storeId: z.string().nullish(),
  invoiceId: z.string().nullish(),
});

/**
 * Reads BTCPay's webhooks. The signature proves only that BTCPay sent the delivery. The state comes from its API, so
 * late, repeated and replayed deliveries all report the present state.
 */
export function btcpayWebhook(client: BtcpayClient, { storeId, webhookSecret }: BtcpaySettings): WebhookReader {
  return {
    async read({ body, signature }): Promise<Delivery> {
      if (signature === undefined) return { kind: 'refused', failed: 'no_signature' };
      if (!isSigned(body, signature, webhookSecret)) return { kind: 'refused', failed: 'wrong_signature' };
      const read = deliverySchema.safeParse(parseJson(body.toString('utf8')));
      if (!read.success) return { kind: 'refused', failed: 'malformed_body' };
      const { type, invoiceId } = read.data;
      const ignored = (reason: string): Delivery => ({ kind: 'ignored', type, reason });
      if (invoiceId == null) return ignored('It is about no invoice.');
      if (read.data.storeId != null && read.data.storeId !== storeId) return ignored('It is of another store.');
      // The button `Test webhook` sends such an id.
      if (invoiceId.startsWith('__test__')) return ignored('It is a test of the webhook, which works.');
      const invoice = await client.invoice(invoiceId);
      if (invoice === undefined) return ignored('The store has no such invoice.');
      const { events } = await observeInvoice(client, invoice);
      if (events.length === 0) return ignored('The invoice does not change its order now.');
      return {
        kind: 'events',
        type,
        pointer: { orderId: invoice.metadata?.orderId ?? undefined, reference: invoice.id },
        events,
      };
    },
  };
}

/** `BTCPay-Sig: sha256=<hex of HMAC-SHA256 over the body's bytes>`. */
function isSigned(body: Buffer, signature: string, secret: string): boolean {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
