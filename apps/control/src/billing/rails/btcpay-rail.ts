import { type Nusd, orderTotal } from '@sotto/money';
import type { BtcpayClient, Invoice } from './btcpay-client.ts';
import type { Observed, Opened, PaymentRail, RailEvent, RailOrder } from './rail.ts';
import { RailUnavailableError } from './rail.ts';

export interface BtcpayRailOptions {
  readonly client: BtcpayClient;
  /** Origin of the page to return to after payment. */
  readonly origin: string;
  readonly now: () => number;
}

/** How long BTCPay watches the addresses of a wallet's expired invoice: less than its order is kept (`forgetUnpaid`). */
const watchedMinutes = 24 * 60;

/**
 * Crypto through BTCPay Server. Its API does not have idempotency keys. Before creating an invoice, the rail looks for
 * one with the order's id. Only the process that holds the order's lease opens it (`place-order.ts`), so two processes
 * never create one at once.
 */
export class BtcpayRail implements PaymentRail {
  readonly name = 'crypto';
  readonly #client: BtcpayClient;
  readonly #origin: string;
  readonly #now: () => number;

  constructor({ client, origin, now }: BtcpayRailOptions) {
    this.#client = client;
    this.#origin = origin;
    this.#now = now;
  }

  async open(order: RailOrder): Promise<Opened> {
    const [known] = await this.#client.invoicesOf(order.id);
    const invoice =
      known ??
      (await this.#client.createInvoice({
        amount: decimalUsd(orderTotal(order)),
        currency: 'USD',
        metadata: { orderId: order.id, itemDesc: 'Prepaid balance' },
        checkout: {
          // The time left until the order ends, at least a minute.
          expirationMinutes: Math.max(1, Math.ceil((order.expiresAt.getTime() - this.#now()) / 60_000)),
          ...(order.wallet === undefined
            ? { redirectURL: `${this.#origin}/billing?order=${order.id}&checkout=done` }
            : { lazyPaymentMethods: false, monitoringMinutes: watchedMinutes }),
        },
      }));
    const { events } = await observeInvoice(this.#client, invoice);
    if (order.wallet === undefined)
      return { reference: invoice.id, checkoutUrl: invoice.checkoutLink ?? undefined, events };
    const payTo = await this.#client.payTo(invoice.id);
    if (payTo.length === 0 && events.length === 0) throw new RailUnavailableError('no_payment_method');
    return { reference: invoice.id, checkoutUrl: undefined, payTo, events };
  }

  async observe({ reference }: RailOrder): Promise<Observed> {
    if (reference === undefined) return { events: [], processing: false };
    const invoice = await this.#client.invoice(reference);
    // An invoice exists as long as its store does. Its absence says nothing about the money.
    if (invoice === undefined) throw new RailUnavailableError('no_such_invoice');
    return observeInvoice(this.#client, invoice);
  }

  /** Does nothing: BTCPay ends each invoice itself, at the time set at its creation. */
  async close(): Promise<void> {}
}

/**
 * Returns the events of an invoice for its order. Only settled money counts, because unconfirmed payments may vanish.
 */
export async function observeInvoice(client: BtcpayClient, invoice: Invoice): Promise<Observed> {
  const said = (events: readonly RailEvent[], processing = false): Observed => ({ events, processing });
  const paid: RailEvent = {
    type: 'paid',
    payment: invoice.id,
    paidNusd: parseDecimalUsd(invoice.amount) ?? -1n,
    currency: invoice.currency.toUpperCase(),
  };
  const additional = invoice.additionalStatus ?? 'None';
  switch (invoice.status) {
    case 'Settled':
      return said(additional === 'PaidOver' ? [paid, { type: 'noticed', flag: 'overpaid' }] : [paid]);
    case 'Processing':
      return said([], true);
    case 'Invalid':
      return said([{ type: 'failed', reason: 'payment_invalid' }]);
    case 'Expired': {
      const states = additional === 'PaidLate' ? await client.paymentStates(invoice.id) : [];
      const isOnItsWay = additional === 'PaidLate' && (states.length === 0 || states.includes('Processing'));
      if (isOnItsWay) return said([], true);
      if (states.length > 0 && states.every((state) => state === 'Settled')) return said([paid]);
      // What is left of a late payment of which a part never confirmed is a part, too.
      const isPartial = additional === 'PaidPartial' || states.includes('Settled');
      const noticed: RailEvent = { type: 'noticed', flag: 'paid_partially' };
      return said([{ type: 'expired' }, ...(isPartial ? [noticed] : [])]);
    }
    default:
      return said([]);
  }
}

const decimalUsd = (amount: Nusd): string =>
  `${amount / 1_000_000_000n}.${String(amount % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0{0,7}$/, '')}`;

/** Parses a decimal number of USD as nano-USD. Returns undefined for other text and for more than nine decimals. */
function parseDecimalUsd(text: string): Nusd | undefined {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  if (whole === undefined || digits.length > 9) return undefined;
  return BigInt(whole) * 1_000_000_000n + BigInt(digits.padEnd(9, '0'));
}
