import type { Nusd } from './amounts.ts';

export const orderStatuses = ['created', 'pending', 'paid', 'failed', 'expired', 'refunded'] as const;
/** Where a purchase order stands: `created` before its rail knows of it, `pending` while it may be paid. */
export type OrderStatus = (typeof orderStatuses)[number];

/** What a person has to look at; none of them moves money by itself. */
export type OrderFlag =
  /** Another amount than the order's was paid: nothing was credited. */
  | 'amount_differs'
  /** It was paid in another currency: nothing was credited. */
  | 'currency_differs'
  /** A second payment for an order that was credited already. */
  | 'paid_twice'
  /** Credited as ordered, but more than that came in. */
  | 'overpaid'
  /** Ended with less paid than ordered. */
  | 'paid_partially'
  /** The customer's bank disputes the payment. */
  | 'disputed'
  /** A refund that was booked did not reach the customer. */
  | 'refund_failed';

/** The money of one order. What the customer pays is `amountNusd + feeNusd`; the account is credited `amountNusd`. */
export interface OrderFunds {
  readonly status: OrderStatus;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
  /** The rail's id of the payment that was credited. */
  readonly payment: string | undefined;
  /** What the rail has refunded so far, of amount and fee together; may be known before the payment is. */
  readonly refundedNusd: Nusd;
  /** What was lost to disputes so far, counted likewise. */
  readonly disputedNusd: Nusd;
}

/** What a rail can say of an order, in any order and any number of times. */
export type OrderEvent =
  | { readonly type: 'opened' }
  | { readonly type: 'paid'; readonly payment: string; readonly paidNusd: Nusd; readonly currency: string }
  | { readonly type: 'failed' }
  | { readonly type: 'expired' }
  /** All refunds so far, not the last one: so that repeated and overtaken reports add nothing. */
  | { readonly type: 'refunded'; readonly totalNusd: Nusd }
  | { readonly type: 'dispute_lost'; readonly totalNusd: Nusd }
  | { readonly type: 'noticed'; readonly flag: OrderFlag };

export type OrderEffect =
  | { readonly type: 'credit'; readonly amountNusd: Nusd; readonly feeNusd: Nusd }
  /** Takes credit back, and gives up the fee's share. */
  | { readonly type: 'debit'; readonly amountNusd: Nusd; readonly feeNusd: Nusd }
  | { readonly type: 'flag'; readonly flag: OrderFlag };

export interface OrderStep {
  readonly order: OrderFunds;
  readonly effects: readonly OrderEffect[];
}

type Move = 'stay' | 'open' | 'credit' | 'compare' | 'fail' | 'expire' | 'note' | 'take_back' | 'flag';

const unpaid = { paid: 'credit', refunded: 'note', dispute_lost: 'note', noticed: 'flag' } as const;
const ended = { ...unpaid, opened: 'stay', failed: 'stay', expired: 'stay' } as const;
const credited = {
  opened: 'stay',
  paid: 'compare',
  failed: 'stay',
  expired: 'stay',
  refunded: 'take_back',
  dispute_lost: 'take_back',
  noticed: 'flag',
} as const;

/**
 * Every state and every event. Money that comes in late, for an order that failed or expired, is credited all the same:
 * the alternative is to keep it in silence. What was credited is taken back by refunds and lost disputes only.
 */
const moves = {
  created: { ...unpaid, opened: 'open', failed: 'fail', expired: 'expire' },
  pending: { ...unpaid, opened: 'stay', failed: 'fail', expired: 'expire' },
  failed: ended,
  expired: ended,
  paid: credited,
  refunded: credited,
} as const satisfies Record<OrderStatus, Record<OrderEvent['type'], Move>>;

/** The order after an event, and what has to be done for it. Total: any event may come in any state, any number of times. */
export function applyOrderEvent(order: OrderFunds, event: OrderEvent): OrderStep {
  const move: Move = moves[order.status][event.type];
  const unchanged: OrderStep = { order, effects: [] };
  switch (move) {
    case 'stay':
      return unchanged;
    case 'open':
      return { order: { ...order, status: 'pending' }, effects: [] };
    case 'fail':
      return { order: { ...order, status: 'failed' }, effects: [] };
    case 'expire':
      return { order: { ...order, status: 'expired' }, effects: [] };
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

/** What the customer pays. */
export const orderTotal = ({ amountNusd, feeNusd }: Pick<OrderFunds, 'amountNusd' | 'feeNusd'>): Nusd =>
  amountNusd + feeNusd;

/** What the customer got or fetched back, at most what was paid. */
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

/** What of credit and fee the returns so far amount to: in proportion, and all of both with the last cent. */
function sharesReturned(order: OrderFunds): Shares {
  const returned = returnedNusd(order);
  const amountNusd = (order.amountNusd * returned) / orderTotal(order);
  return { amountNusd, feeNusd: returned - amountNusd };
}

function credit(order: OrderFunds, event: OrderEvent & { readonly type: 'paid' }): OrderStep {
  const differs =
    event.currency !== 'USD' ? 'currency_differs' : event.paidNusd === orderTotal(order) ? undefined : 'amount_differs';
  if (differs !== undefined) {
    // It is not going to be paid as it stands, and somebody has to look at what came in.
    return flagged({ ...order, status: order.status === 'expired' ? 'expired' : 'failed' }, differs);
  }
  // Refunds that overtook the payment are taken back in the same step.
  const { order: after, effects } = takeBack({ ...order, status: 'paid', payment: event.payment }, nothing);
  return {
    order: after,
    effects: [{ type: 'credit', amountNusd: order.amountNusd, feeNusd: order.feeNusd }, ...effects],
  };
}

/** Debits what returns have reached beyond `before`, and closes the order when nothing is left. */
function takeBack(order: OrderFunds, before: Shares): OrderStep {
  const after = sharesReturned(order);
  const debit = { amountNusd: after.amountNusd - before.amountNusd, feeNusd: after.feeNusd - before.feeNusd };
  const status = returnedNusd(order) === orderTotal(order) ? 'refunded' : 'paid';
  return {
    order: { ...order, status },
    effects: debit.amountNusd + debit.feeNusd > 0n ? [{ type: 'debit', ...debit }] : [],
  };
}

/** Takes in what a rail says of returns in all; reports that were overtaken say less and change nothing. */
function withReturns(order: OrderFunds, event: OrderEvent): OrderFunds {
  const higher = (known: Nusd, told: Nusd): Nusd => (told > known ? told : known);
  if (event.type === 'refunded') return { ...order, refundedNusd: higher(order.refundedNusd, event.totalNusd) };
  if (event.type === 'dispute_lost') return { ...order, disputedNusd: higher(order.disputedNusd, event.totalNusd) };
  return order;
}

const flagged = (order: OrderFunds, flag: OrderFlag): OrderStep => ({ order, effects: [{ type: 'flag', flag }] });
