import { type Nusd, nanoPerCent } from './amounts.ts';

export const orderStatuses = ['created', 'pending', 'paid', 'failed', 'expired', 'refunded'] as const;
/** Status of a purchase order: `created` before its rail knows it, `pending` while it can be paid. */
export type OrderStatus = (typeof orderStatuses)[number];

/** Problems that the operator must review. None of them moves money by itself. */
export type OrderFlag =
  /** The paid amount differs from the order. Nothing was credited. */
  | 'amount_differs'
  /** The currency of the payment differs. Nothing was credited. */
  | 'currency_differs'
  /** A second payment for an order that is already credited. */
  | 'paid_twice'
  /** Credited as ordered, but the customer paid more. */
  | 'overpaid'
  /** The order ended with a partial payment. */
  | 'paid_partially'
  /** The customer's bank disputes the payment. */
  | 'disputed'
  /** A booked refund did not reach the customer. */
  | 'refund_failed';

/** The money of one order. The customer pays `amountNusd + feeNusd`, and the account is credited `amountNusd`. */
export interface OrderFunds {
  readonly status: OrderStatus;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
  /** The rail's id of the payment that was credited. */
  readonly payment: string | undefined;
  /** Total refunds so far, of amount and fee together. Refunds may be reported before the payment. */
  readonly refundedNusd: Nusd;
  /** Total of lost disputes so far, of amount and fee together. */
  readonly disputedNusd: Nusd;
}

/** Events that a rail reports about an order, in any order and any number of times. */
export type OrderEvent =
  | { readonly type: 'opened' }
  | { readonly type: 'paid'; readonly payment: string; readonly paidNusd: Nusd; readonly currency: string }
  | { readonly type: 'failed' }
  | { readonly type: 'expired' }
  /** The total of all refunds, not the last one, so that repeated and late reports add nothing. */
  | { readonly type: 'refunded'; readonly totalNusd: Nusd }
  /** The total of all lost disputes, likewise. */
  | { readonly type: 'dispute_lost'; readonly totalNusd: Nusd }
  /** A dispute is over, and the payment stays. Moves nothing; the order's history keeps it. */
  | { readonly type: 'dispute_won' }
  | { readonly type: 'noticed'; readonly flag: OrderFlag };

export type OrderEffect =
  | { readonly type: 'credit'; readonly amountNusd: Nusd; readonly feeNusd: Nusd }
  /** Takes credit back and returns the fee's share. */
  | { readonly type: 'debit'; readonly amountNusd: Nusd; readonly feeNusd: Nusd }
  | { readonly type: 'flag'; readonly flag: OrderFlag };

export interface OrderStep {
  readonly order: OrderFunds;
  readonly effects: readonly OrderEffect[];
}

/** What follows an event. A status is the order's next one. */
type Move = 'pending' | 'failed' | 'expired' | 'stay' | 'credit' | 'compare' | 'note' | 'take_back' | 'flag';

const stays = { opened: 'stay', failed: 'stay', expired: 'stay' } as const;
const unpaid = {
  paid: 'credit',
  refunded: 'note',
  dispute_lost: 'note',
  dispute_won: 'stay',
  noticed: 'flag',
} as const;
const ended = { ...stays, ...unpaid } as const;
const credited = {
  ...stays,
  paid: 'compare',
  refunded: 'take_back',
  dispute_lost: 'take_back',
  dispute_won: 'stay',
  noticed: 'flag',
} as const;

/**
 * The transition of every state and event. Late money for a failed or expired order is credited, because the alternative is to
 * keep it. Only refunds and lost disputes take credit back.
 */
const moves = {
  created: { ...unpaid, opened: 'pending', failed: 'failed', expired: 'expired' },
  pending: { ...unpaid, opened: 'stay', failed: 'failed', expired: 'expired' },
  failed: ended,
  expired: ended,
  paid: credited,
  refunded: credited,
} as const satisfies Record<OrderStatus, Record<OrderEvent['type'], Move>>;

/** Returns the order after an event, and the effects to carry out. Accepts any event in any state, any number of times. */
export function applyOrderEvent(order: OrderFunds, event: OrderEvent): OrderStep {
  const move: Move = moves[order.status][event.type];
  const unchanged: OrderStep = { order, effects: [] };
  switch (move) {
    case 'stay':
      return unchanged;
    case 'pending':
    case 'failed':
    case 'expired':
      return { order: { ...order, status: move }, effects: [] };
    case 'credit':
      return event.type === 'paid' ? credit(order, event) : unchanged;
    case 'compare':
      return event.type === 'paid' && event.payment !== order.payment ? flagged(order, 'paid_twice') : unchanged;
    case 'note':
      return { order: withReturns(order, event), effects: [] };
    case 'take_back':
      return takeBack(withReturns(order, event), sharesReturned(order));
    case 'flag':
      return event.type === 'noticed' ? flagged(order, event.flag) : unchanged;
    default:
      return move satisfies never;
  }
}

/** The price that the customer pays. */
export const orderTotal = ({ amountNusd, feeNusd }: Pick<OrderFunds, 'amountNusd' | 'feeNusd'>): Nusd =>
  amountNusd + feeNusd;

/** Refunds and lost disputes together, at most the payment. */
export function returnedNusd(order: OrderFunds): Nusd {
  const returned = order.refundedNusd + order.disputedNusd;
  const total = orderTotal(order);
  if (returned > total) return total;
  return returned;
}

interface Shares {
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
}

const nothing: Shares = { amountNusd: 0n, feeNusd: 0n };

/** The shares of credit and fee in the returns so far: proportional, and complete with the last cent. */
function sharesReturned(order: OrderFunds): Shares {
  const returned = returnedNusd(order);
  const amountNusd = (order.amountNusd * returned) / orderTotal(order);
  return { amountNusd, feeNusd: returned - amountNusd };
}

function credit(order: OrderFunds, event: OrderEvent & { readonly type: 'paid' }): OrderStep {
  const differs =
    event.currency !== 'USD' ? 'currency_differs' : event.paidNusd === orderTotal(order) ? undefined : 'amount_differs';
  if (differs !== undefined) {
    // The order will not be paid as it is, and the operator must review the payment.
    return flagged({ ...order, status: order.status === 'expired' ? 'expired' : 'failed' }, differs);
  }
  // Refunds that arrived before the payment are taken back in the same step.
  const { order: after, effects } = takeBack({ ...order, status: 'paid', payment: event.payment }, nothing);
  return {
    order: after,
    effects: [{ type: 'credit', amountNusd: order.amountNusd, feeNusd: order.feeNusd }, ...effects],
  };
}

/** Debits the returns beyond `before`, and closes the order when nothing is left. */
function takeBack(order: OrderFunds, before: Shares): OrderStep {
  const after = sharesReturned(order);
  const debit = { amountNusd: after.amountNusd - before.amountNusd, feeNusd: after.feeNusd - before.feeNusd };
  const status = returnedNusd(order) === orderTotal(order) ? 'refunded' : 'paid';
  return {
    order: { ...order, status },
    effects: debit.amountNusd + debit.feeNusd > 0n ? [{ type: 'debit', ...debit }] : [],
  };
}

/** Applies the total returns that a rail reports. Late reports have smaller totals and change nothing. */
function withReturns(order: OrderFunds, event: OrderEvent): OrderFunds {
  const higher = (known: Nusd, told: Nusd): Nusd => (told > known ? told : known);
  if (event.type === 'refunded') return { ...order, refundedNusd: higher(order.refundedNusd, event.totalNusd) };
  if (event.type === 'dispute_lost') return { ...order, disputedNusd: higher(order.disputedNusd, event.totalNusd) };
  return order;
}

const flagged = (order: OrderFunds, flag: OrderFlag): OrderStep => ({ order, effects: [{ type: 'flag', flag }] });

/** Terms of the fee of a top-up. */
export interface FeeTerms {
  /** Percent of the amount, in thousandths: 5500 is 5.5 %. */
  readonly milliPercent: bigint;
  readonly fixedNusd: Nusd;
  readonly minimumNusd: Nusd;
}

/** The fee of a top-up: a percentage plus a fixed part, at least the minimum, rounded up to a whole cent. */
export function topUpFee(amountNusd: Nusd, { milliPercent, fixedNusd, minimumNusd }: FeeTerms): Nusd {
  // In 1/100,000 nano-USD, so that nothing is rounded before the end.
  const exact = amountNusd * milliPercent + fixedNusd * 100_000n;
  const centUnits = nanoPerCent * 100_000n;
  const rounded = ((exact + centUnits - 1n) / centUnits) * nanoPerCent;
  return rounded > minimumNusd ? rounded : minimumNusd;
}
