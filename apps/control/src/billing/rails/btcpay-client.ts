import { z } from 'zod';
import type { BtcpaySettings } from '../billing-settings.ts';
import { RailRefusedError, RailUnavailableError } from './rail.ts';

const timeoutMs = 10_000;

/** What is read of an invoice (Greenfield API v1, `InvoiceData`). */
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

const paymentMethodsSchema = z.array(
  z.looseObject({ payments: z.array(z.looseObject({ status: z.string() })).nullish() }),
);

/** The calls of BTCPay Server's Greenfield API that are needed: three reads and one write. */
export class BtcpayClient {
  readonly #settings: BtcpaySettings;

  constructor(settings: BtcpaySettings) {
    this.#settings = settings;
  }

  /** The invoices that carry an order's id, newest first as BTCPay lists them. */
  async invoicesOf(orderId: string): Promise<Invoice[]> {
    const listed = await this.#ask('GET', `/invoices?orderId=${encodeURIComponent(orderId)}`);
    // The server has been told what to look for; it is its word that is checked here.
    return readAs(z.array(invoiceSchema), listed).filter(({ metadata }) => metadata?.orderId === orderId);
  }

  /** One invoice; undefined where the store has none of this id. */
  async invoice(invoiceId: string): Promise<Invoice | undefined> {
    const found = await this.#ask('GET', `/invoices/${encodeURIComponent(invoiceId)}`);
    return found === undefined ? undefined : readAs(invoiceSchema, found);
  }

  async createInvoice(invoice: object): Promise<Invoice> {
    return readAs(invoiceSchema, await this.#ask('POST', '/invoices', invoice));
  }

  /** The states of the payments that an invoice has received (`Processing`, `Settled`, `Invalid`). */
  async paymentStates(invoiceId: string): Promise<string[]> {
    const methods = await this.#ask('GET', `/invoices/${encodeURIComponent(invoiceId)}/payment-methods`);
    return readAs(paymentMethodsSchema, methods ?? []).flatMap(({ payments }) =>
      (payments ?? []).map(({ status }) => status),
    );
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

/** An answer of another form says as little as none. */
function readAs<T>(schema: z.ZodType<T>, answer: unknown): T {
  const read = schema.safeParse(answer);
  if (!read.success) throw new RailUnavailableError('malformed_answer', read.error);
  return read.data;
}
