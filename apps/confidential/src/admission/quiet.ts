import type { HoldOrder } from '@sotto/state';

/** The smallest amounts that a quiet request holds and counts. Each larger one is twice the one before: $0.05, $0.10, $0.20 … */
const least = { holdNusd: 50_000_000n, tokens: 4_096 };

/**
 * Rounds the hold and the tokens of a quiet request up, so that they do not tell how long its prompt is. The state is asked to hold any
 * amount that a request of the same class may need, and the hold book compares what it held with what this one needs. A free request
 * holds nothing.
 */
export function roundedUp<Order extends Pick<HoldOrder, 'amountNusd' | 'estimatedTokens' | 'free'>>(order: Order) {
  const estimatedTokens = quietTokens(order.estimatedTokens);
  if (order.free === true) return { ...order, estimatedTokens };
  let roundedNusd = least.holdNusd;
  while (roundedNusd < order.amountNusd) roundedNusd *= 2n;
  const amountNusd = roundedNusd === least.holdNusd ? 1n : roundedNusd / 2n;
  return { ...order, estimatedTokens, amountNusd, roundedNusd, neededNusd: order.amountNusd };
}

/** The tokens that a quiet request counts against the rate limit. */
export const quietTokens = (tokens: number): number => 2 ** Math.ceil(Math.log2(Math.max(tokens, least.tokens)));
