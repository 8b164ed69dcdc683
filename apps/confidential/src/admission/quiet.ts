import type { HoldOrder } from '@sotto/state';

/** The smallest amounts that a quiet request holds and counts. Each larger one is twice the one before: $0.05, $0.10, $0.20 … */
const least = { holdNusd: 50_000_000n, tokens: 4_096 };

/** Rounds the hold and the tokens of a quiet request up, so that they do not tell how long its prompt is. A free request holds nothing. */
export function roundedUp<Order extends Pick<HoldOrder, 'amountNusd' | 'estimatedTokens' | 'free'>>(order: Order) {
  let roundedNusd = least.holdNusd;
  while (roundedNusd < order.amountNusd) roundedNusd *= 2n;
  const estimatedTokens = quietTokens(order.estimatedTokens);
  return { ...order, estimatedTokens, roundedNusd: order.free === true ? undefined : roundedNusd };
}

/** The tokens that a quiet request counts against the rate limit. */
export const quietTokens = (tokens: number): number => 2 ** Math.ceil(Math.log2(Math.max(tokens, least.tokens)));
