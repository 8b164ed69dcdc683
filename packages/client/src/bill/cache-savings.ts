import { cost, type Nusd } from '@sotto/money';
import type { ListedPrice } from './price-list.ts';
import type { Charge } from './read-bill.ts';

/**
 * Returns how much more a charge would be if no token of its prompt had come from a cache or gone into one. It is negative if
 * writing cost more than reading saved. Undefined if the list has no price for the charge, or several.
 */
export function savedByCaches(charge: Charge, prices: readonly ListedPrice[]): Nusd | undefined {
  const [listed, ...others] = prices.filter(
    ({ model, provider }) => model === charge.model && provider === charge.provider,
  );
  if (listed === undefined || others.length > 0) return undefined;
  const { promptTokens, completionTokens, reasoningTokens, chargeNusd } = charge;
  const uncached = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens, reasoningTokens };
  return cost(uncached, listed.price) - chargeNusd;
}
