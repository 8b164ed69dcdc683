import { createHmac, randomBytes } from 'node:crypto';
import { type Call, type Reply, type StandInServer, startStandIn } from './stand-in-server.ts';

const btcpayApiKey = 'btcpay-api-key-31ab09';
const btcpayStoreId = 'StoreOfTests';
const btcpayWebhookSecret = 'btcpay-webhook-77c1e2';

interface Invoice {
  id: string;
  storeId: string;
  amount: string;
  paidAmount: string;
  currency: string;
  checkoutLink: string;
  status: 'New' | 'Processing' | 'Settled' | 'Expired' | 'Invalid';
  additionalStatus: 'None' | 'PaidLate' | 'PaidPartial' | 'PaidOver' | 'Marked' | 'Invalid';
  metadata: { orderId?: string };
  /** The words of the creation that say how it is checked out. */
  checkout: Checkout;
  /** States of the payments. BTCPay lists them with the payment methods of an invoice, not with the invoice. */
  payments: string[];
}

interface Checkout {
  readonly expirationMinutes?: number;
  /** Where the page returns to. An invoice without it has no page, and must name its methods at once. */
  readonly redirectURL?: string;
  readonly lazyPaymentMethods?: boolean;
  readonly monitoringMinutes?: number;
}

/** A BTCPay Server that keeps the Greenfield API's rules for the calls that we make. It has no idempotency keys. */
export interface BtcpayStandIn {
  readonly server: StandInServer;
  readonly invoices: Invoice[];
  invoiceOf(orderId: string): Invoice;
  /**
   * The body of a webhook about an invoice. `type` is what the body claims, which may differ from the invoice's state.
   */
  delivery(invoice: Pick<Invoice, 'id'>, type: string): object;
}

export async function startBtcpay(): Promise<BtcpayStandIn> {
  const invoices: Invoice[] = [];
  const prefix = `/api/v1/stores/${btcpayStoreId}/invoices`;
  const shown = ({ payments: _, checkout: __, ...invoice }: Invoice) => invoice;

  const handle = ({ method, path, query, headers, body }: Call): Reply => {
    if (headers.authorization !== `token ${btcpayApiKey}`) {
      return { status: 401, body: { code: 'unauthenticated', message: 'Authentication is required' } };
    }
    if (!path.startsWith(prefix)) return { status: 403, body: { code: 'missing-permission' } };
    const [invoiceId, part] = path.slice(prefix.length + 1).split('/');
    if (method === 'POST' && !invoiceId) return create(JSON.parse(body) as Record<string, unknown>);
    if (method === 'GET' && !invoiceId) {
      const wanted = query.getAll('orderId');
      const found = invoices.filter(({ metadata }) => wanted.length === 0 || wanted.includes(metadata.orderId ?? ''));
      return { status: 200, body: [...found].reverse().map(shown) };
    }
    const invoice = invoices.find((candidate) => candidate.id === invoiceId);
    if (method !== 'GET' || invoice === undefined) {
      return { status: 404, body: { code: 'invoice-not-found', message: 'The invoice was not found' } };
    }
    if (part === 'payment-methods') {
      return { status: 200, body: methodsOf(invoice) };
    }
    return { status: 200, body: shown(invoice) };
  };

  const create = (asked: Record<string, unknown>): Reply => {
    const unknown = Object.keys(asked).find((name) => !['amount', 'currency', 'metadata', 'checkout'].includes(name));
    const checkout = (asked.checkout ?? {}) as Checkout;
    if (
      unknown !== undefined ||
      !/^\d+\.\d{2,}$/.test(String(asked.amount)) ||
      asked.currency !== 'USD' ||
      !(Number(checkout.expirationMinutes) >= 1) ||
      !(checkout.redirectURL === undefined ? checkout.lazyPaymentMethods === false : URL.canParse(checkout.redirectURL))
    ) {
      return { status: 422, body: [{ path: unknown ?? 'amount', message: 'is not valid' }] };
    }
    const id = randomBytes(8).toString('hex');
    const invoice: Invoice = {
      id,
      storeId: btcpayStoreId,
      amount: String(asked.amount),
      paidAmount: '0',
      currency: 'USD',
      checkoutLink: `https://btcpay.example/i/${id}`,
      status: 'New',
      additionalStatus: 'None',
      metadata: (asked.metadata ?? {}) as Invoice['metadata'],
      checkout,
      payments: [],
    };
    invoices.push(invoice);
    return { status: 200, body: shown(invoice) };
  };

  const server = await startStandIn(handle);
  return {
    server,
    invoices,
    invoiceOf(orderId) {
      const found = invoices.filter(({ metadata }) => metadata.orderId === orderId);
      if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} invoices of one order`);
      return found[0];
    },
    delivery: ({ id: invoiceId }, type) => ({
      deliveryId: randomBytes(8).toString('hex'),
      webhookId: 'webhook',
      isRedelivery: false,
      type,
      timestamp: Math.floor(Date.now() / 1000),
      storeId: btcpayStoreId,
      invoiceId,
    }),
  };
}

/** `InvoicePaymentMethodDataModel` of both methods of the store. Payments are listed with the first one. */
function methodsOf({ id, amount, checkout, payments }: Invoice): object[] {
  const isActive = checkout.lazyPaymentMethods === false;
  const due = (Number(amount) / 100_000).toFixed(8);
  const method = (paymentMethodId: string, destination: string, paymentLink: string) => ({
    ...{ paymentMethodId, currency: 'BTC', activated: isActive, rate: '100000', amount: due, due, totalPaid: '0' },
    ...(isActive ? { destination, paymentLink } : { destination: null, paymentLink: null }),
    ...{ paymentMethodPaid: '0', paymentMethodFee: '0', additionalData: {} },
  });
  return [
    {
      ...method('BTC-CHAIN', `bc1q${id}`, `bitcoin:bc1q${id}?amount=${due}`),
      payments: payments.map((status) => ({ id: 'x-0', status })),
    },
    { ...method('BTC-LN', `lnbc1${id}`, `lightning:lnbc1${id}`), payments: [] },
  ];
}

/** The settings of a service that takes crypto through it. */
export const btcpayEnvironment = ({ server }: BtcpayStandIn) => ({
  BTCPAY_URL: server.url,
  BTCPAY_API_KEY: btcpayApiKey,
  BTCPAY_STORE_ID: btcpayStoreId,
  BTCPAY_WEBHOOK_SECRET: btcpayWebhookSecret,
});

/** The `BTCPay-Sig` header: HMAC-SHA256 over the body. */
export const btcpaySignature = (body: string, secret = btcpayWebhookSecret): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
