import { type Nusd, orderTotal } from '@sotto/money';
import type { BtcpayClient, Invoice } from './btcpay-client.ts';
import type { Observed, Opened, PaymentRail, RailEvent, RailOrder } from './rail.ts';
import { RailUnavailableError } from './rail.ts';

export interface BtcpayRailOptions {
  readonly client: BtcpayClient;
  /** Where people come back to. */
  readonly origin: string;
  readonly now: () => number;
}

/**
 * Crypto through BTCPay Server. Its API has no idempotency keys: before an invoice is made, the one that carries the
 * order's id is looked for, and whoever opens an order holds its lease (`reconcile.ts`), so that nobody else does.
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
          // What is left of the order's time, at least a minute.
          expirationMinutes: Math.max(1, Math.ceil((order.expiresAt.getTime() - this.#now()) / 60_000)),
          redirectURL: `${this.#origin}/billing?order=${order.id}&checkout=done`,
        },
      }));
    const { events } = await observeInvoice(this.#client, invoice);
    return { reference: invoice.id, checkoutUrl: invoice.checkoutLink ?? undefined, events };
  }

  async observe({ reference }: RailOrder): Promise<Observed> {
    if (reference === undefined) return { events: [], processing: false };
    const invoice = await this.#client.invoice(reference);
    // It is there as long as the store is: its absence says nothing about the money.
    if (invoice === undefined) throw new RailUnavailableError('no_such_invoice');
    return observeInvoice(this.#client, invoice);
  }

  /** BTCPay ends its invoices itself, at the time that they were made with. */
  async close(): Promise<void> {}
}

/** What an invoice says of its order. Only settled money counts: unconfirmed payments may vanish. */
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
    case 'Expired':
      if (additional === 'PaidLate') {
        const states = await client.paymentStates(invoice.id);
        const settled = states.length > 0 && states.every((state) => state === 'Settled');
        return settled ? said([paid]) : said([], true);
      }
      return said([
        { type: 'expired' },
        ...(additional === 'PaidPartial' ? ([{ type: 'noticed', flag: 'paid_partially' }] as const) : []),
      ]);
    default:
      return said([]);
  }
}

const decimalUsd = (amount: Nusd): string =>
  `${amount / 1_000_000_000n}.${String(amount % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0{0,7}$/, '')}`;

/** A decimal text as nano-USD; undefined where it is none, or finer. */
export function parseDecimalUsd(text: string): Nusd | undefined {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = fraction.replace(/0+$/, '');
  if (whole === undefined || digits.length > 9) return undefined;
  return BigInt(whole) * 1_000_000_000n + BigInt(digits.padEnd(9, '0'));
}
