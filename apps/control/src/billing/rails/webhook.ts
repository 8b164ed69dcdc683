import type { RailEvent } from './rail.ts';

/** How a webhook's order is found: by our id where the rail carries it, else by what the rail calls it. */
export interface OrderPointer {
  readonly orderId?: string | undefined;
  readonly reference?: string | undefined;
  readonly payment?: string | undefined;
}

/** What a delivery comes to: whose it is and what it says, or why it says nothing to us. */
export type Delivery =
  | {
      readonly kind: 'events';
      readonly type: string;
      readonly pointer: OrderPointer;
      readonly events: readonly RailEvent[];
    }
  | { readonly kind: 'ignored'; readonly type: string; readonly reason: string }
  /** `failed` names the check that it did not pass. */
  | { readonly kind: 'refused'; readonly failed: string };

/** Reads a payment service's deliveries. Throws `RailUnavailableError` where it has to ask the service and cannot. */
export interface WebhookReader {
  read(delivery: {
    readonly body: Buffer;
    readonly signature: string | undefined;
    readonly nowMs: number;
  }): Promise<Delivery>;
}
