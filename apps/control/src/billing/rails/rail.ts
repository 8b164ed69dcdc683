import type { RailName } from '@sotto/contract/control/orders';
import type { PayTo } from '@sotto/contract/control/wallets';
import { type Nusd, type OrderEvent, orderTotal } from '@sotto/money';
import type { WalletHashes } from '../../wallets/deposit.ts';

/**
 * The order as a rail sees it. Everything sent to open it derives from these fields, so opening it twice is the same
 * request.
 */
export interface RailOrder {
  readonly id: string;
  readonly accountId: string;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
  readonly automatic: boolean;
  /** Whether the customer agreed to keep the card. */
  readonly saveCard: boolean;
  /** The saved card to charge. Only automatic orders have one. */
  readonly card: string | undefined;
  /** The rail's own id of the opened payment. */
  readonly reference: string | undefined;
  /** The anonymous wallet that the payment creates. Undefined: it pays into an account that exists. */
  readonly wallet: WalletHashes | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** A payment opened at a rail. `events` is not empty if it was paid or refused at once. */
export interface Opened {
  readonly reference: string;
  readonly checkoutUrl: string | undefined;
  /** Where to pay without a page. Only orders for wallets have it. */
  readonly payTo?: readonly PayTo[] | undefined;
  readonly events: readonly RailEvent[];
}

/**
 * An event that a rail reports about an order, with the reason if it failed, and the rail's id of the dispute it is of. The total of a
 * lost dispute with an id is of this dispute alone.
 */
export type RailEvent = Exclude<OrderEvent, { type: 'opened' }> & {
  readonly reason?: string;
  readonly dispute?: string;
};

/** The present state of an order at its rail. */
export interface Observed {
  readonly events: readonly RailEvent[];
  /** Whether money is on its way, so that the order must not expire yet. */
  readonly processing: boolean;
}

/**
 * One way to pay. Throws `RailUnavailableError` if the outcome is unknown, and `RailRefusedError` if the refusal is
 * final.
 */
export interface PaymentRail {
  readonly name: RailName;
  /**
   * Opens the payment of an order. A repeated call, after a lost answer or a crash, finds the payment that was opened.
   */
  open(order: RailOrder): Promise<Opened>;
  /** Asks for the present state of an opened order. */
  observe(order: RailOrder): Promise<Observed>;
  /** Ends a payment that can still be made. Has no effect if it has ended or was paid. */
  close(order: RailOrder): Promise<void>;
}

/** What auto top-up also needs of the card rail. */
export interface SavedCards {
  /** Returns the rail's id of the card that an account has agreed to keep, or undefined. */
  savedCard(accountId: string): Promise<string | undefined>;
}

/** Thrown when a rail did not do what it was asked. */
export class RailError extends Error {
  readonly code: string;

  constructor(message: string, code: string, cause: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** Thrown when it is unknown what the rail has done or will do. Ask again. */
export class RailUnavailableError extends RailError {
  constructor(code: string, cause?: unknown) {
    super('the rail cannot be asked', code, cause);
    this.name = 'RailUnavailableError';
  }
}

/** Thrown when the rail's refusal is final and no payment was opened. */
export class RailRefusedError extends RailError {
  constructor(code: string, cause?: unknown) {
    super('the rail refuses', code, cause);
    this.name = 'RailRefusedError';
  }
}

/** Pays every order at once, without money. For trying Sotto out (`BILLING_TEST_RAIL`). */
export const testRail: PaymentRail = {
  name: 'test',
  async open(order: RailOrder): Promise<Opened> {
    const reference = `test_${order.id}`;
    return { reference, checkoutUrl: undefined, events: [paid(order)] };
  },
  observe: async (order) => ({ events: [paid(order)], processing: false }),
  close: async () => {},
};

const paid = (order: RailOrder) =>
  ({ type: 'paid', payment: `test_${order.id}`, paidNusd: orderTotal(order), currency: 'USD' }) as const;

/** Identifies the order of a webhook: by our id if the rail carries it, else by the rail's own ids. */
export interface OrderPointer {
  readonly orderId?: string | undefined;
  readonly reference?: string | undefined;
  readonly payment?: string | undefined;
}

/** The result of a delivery: its order and events, or the reason to ignore or refuse it. */
export type Delivery =
  | {
      readonly kind: 'events';
      readonly type: string;
      readonly pointer: OrderPointer;
      readonly events: readonly RailEvent[];
    }
  | { readonly kind: 'ignored'; readonly type: string; readonly reason: string }
  | { readonly kind: 'refused'; readonly failed: string };

/** Reads a payment service's deliveries. Throws `RailUnavailableError` if it has to ask the service and cannot. */
export interface WebhookReader {
  read(delivery: {
    readonly body: Buffer;
    readonly signature: string | undefined;
    readonly nowMs: number;
  }): Promise<Delivery>;
}
