import type { Nusd, OrderEvent } from '@sotto/money';
import type { RailName } from '@sotto/wire';

/** What a rail is told of an order. Everything that it is opened with derives from this, so that opening twice is the same. */
export interface RailOrder {
  readonly id: string;
  readonly accountId: string;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
  readonly automatic: boolean;
  /** Whether the customer agreed to keep the card. */
  readonly saveCard: boolean;
  /** The saved card to charge, of an automatic order. */
  readonly card: string | undefined;
  /** The rail's own id of what was opened. */
  readonly reference: string | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** What was opened at a rail; `events` where it was paid or refused at once. */
export interface Opened {
  readonly reference: string;
  readonly checkoutUrl: string | undefined;
  readonly events: readonly RailEvent[];
}

/** A rail's word on an order, with the reason where it failed. */
export type RailEvent = Exclude<OrderEvent, { type: 'opened' }> & { readonly reason?: string };

/** What a rail says of an order now. */
export interface Observed {
  readonly events: readonly RailEvent[];
  /** Whether money is on its way, so that the order must not expire yet. */
  readonly processing: boolean;
}

/** One way to pay. Throws `RailUnavailableError` where it cannot tell, `RailRefusedError` where it says no for good. */
export interface PaymentRail {
  readonly name: RailName;
  /** Opens the payment of an order. Opening again, after a lost answer or a crash, finds what was opened. */
  open(order: RailOrder): Promise<Opened>;
  /** Asks what has become of an order that was opened. */
  observe(order: RailOrder): Promise<Observed>;
  /** Ends what can still be paid. Without effect where it has ended or was paid. */
  close(order: RailOrder): Promise<void>;
}

/** What is needed of the rail of cards beside. */
export interface SavedCards {
  /** The card that an account has agreed to keep, as the rail's id; undefined: none. */
  savedCard(accountId: string): Promise<string | undefined>;
}

/** It is not known what the rail has done, or will do: to be asked again. */
export class RailUnavailableError extends Error {
  readonly code: string;

  constructor(code: string, cause?: unknown) {
    super('the rail cannot be asked', { cause });
    this.name = 'RailUnavailableError';
    this.code = code;
  }
}

/** The rail refuses for good; nothing was opened. */
export class RailRefusedError extends Error {
  readonly code: string;

  constructor(code: string, cause?: unknown) {
    super('the rail refuses', { cause });
    this.name = 'RailRefusedError';
    this.code = code;
  }
}
