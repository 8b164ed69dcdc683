import type { PayTo } from '@sotto/contract/control/wallets';
import * as z from 'zod';
import type { BtcpaySettings } from '../billing-settings.ts';
import { RailRefusedError, RailUnavailableError } from './rail.ts';

const timeoutMs = 10_000;

/** The fields that we read of an invoice (Greenfield API v1, `InvoiceData`). */
const invoiceSchema = z.looseObject({
  id: z.string(),
  storeId: z.string(),
  amount: z.string(),
  paidAmount: z.string().nullish(),
  currency: z.string(),
  checkoutLink: z.string().nullish(),
  status: z.string(),
  additionalStatus: z.string().nullish(),
  metadata: z.looseObject({ orderId: z.string().nullish() }).nullish(),
});
export type Invoice = z.infer<typeof invoiceSchema>;

/** `InvoicePaymentMethodDataModel`. A method has no destination before it is activated. */
const paymentMethodsSchema = z.array(
  z.looseObject({
    paymentMethodId: z.string().nullish(),
    currency: z.string().nullish(),
    /** What is left to pay, in the method's currency. */
    due: z.string().nullish(),
    destination: z.string().nullish(),
    paymentLink: z.string().nullish(),
    payments: z.array(z.looseObject({ status: z.string() })).nullish(),
  }),
);

/** A client for BTCPay Server's Greenfield API, with the three reads and one write that we need. */
export class BtcpayClient {
  readonly #settings: BtcpaySettings;

  constructor(settings: BtcpaySettings) {
    this.#settings = settings;
  }

  /** Returns the invoices with an order's id, newest first as BTCPay lists them. */
  async invoicesOf(orderId: string): Promise<Invoice[]> {
    const listed = await this.#ask('GET', `/invoices?orderId=${encodeURIComponent(orderId)}`);
    // Check the answer: do not rely on the server's filter.
    return readAs(z.array(invoiceSchema), listed).filter(({ metadata }) => metadata?.orderId === orderId);
  }

  /** Returns one invoice, or undefined if the store does not have it. */
  async invoice(invoiceId: string): Promise<Invoice | undefined> {
    const found = await this.#ask('GET', `/invoices/${encodeURIComponent(invoiceId)}`);
    return found === undefined ? undefined : readAs(invoiceSchema, found);
  }

  async createInvoice(invoice: object): Promise<Invoice> {
    return readAs(invoiceSchema, await this.#ask('POST', '/invoices', invoice));
  }

  /** Returns the states of the payments that an invoice has received (`Processing`, `Settled`, `Invalid`). */
  async paymentStates(invoiceId: string): Promise<string[]> {
    const methods = await this.#paymentMethods(invoiceId);
    return methods.flatMap(({ payments }) => (payments ?? []).map(({ status }) => status));
  }

  /** Returns where an invoice can be paid, by each method of the store. */
  async payTo(invoiceId: string): Promise<PayTo[]> {
    const methods = await this.#paymentMethods(invoiceId);
    return methods.flatMap(({ paymentMethodId: method, currency, due: amount, destination, paymentLink: link }) =>
      method && currency && amount && destination ? { method, currency, amount, destination, link: link ?? null } : [],
    );
  }

  async #paymentMethods(invoiceId: string): Promise<z.infer<typeof paymentMethodsSchema>> {
    const methods = await this.#ask('GET', `/invoices/${encodeURIComponent(invoiceId)}/payment-methods`);
    return readAs(paymentMethodsSchema, methods ?? []);
  }

  /** Resolves to the parsed answer; undefined for 404. */
  async #ask(method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
    const { url, storeId, apiKey } = this.#settings;
    const answer = await fetch(`${url}/api/v1/stores/${encodeURIComponent(storeId)}${path}`, {
      method,
      headers: {
        authorization: `token ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw new RailUnavailableError('unreachable', error);
    });
    if (answer.ok) {
      return answer.json().catch((error: unknown) => {
        throw new RailUnavailableError('malformed_answer', error);
      });
    }
    await answer.body?.cancel();
    if (answer.status === 404 && method === 'GET') return undefined;
    if (answer.status === 429 || answer.status >= 500) throw new RailUnavailableError(`http_${answer.status}`);
    throw new RailRefusedError(`http_${answer.status}`);
  }
}

/** Parses an answer. An answer of another form counts as an unavailable rail, because it does not tell the outcome. */
function readAs<T>(schema: z.ZodType<T>, answer: unknown): T {
  const read = schema.safeParse(answer);
  if (!read.success) throw new RailUnavailableError('malformed_answer', read.error);
  return read.data;
}
