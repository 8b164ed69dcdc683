import { type Nusd, picoToNusdRoundedUp } from './amounts.ts';
import type { Usage } from './cost.ts';
import type { Price } from './price.ts';

/** Upper bounds of the usage of one attempt. */
export interface TokenBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly images?: number;
  readonly inputCharacters?: number;
}

/**
 * The most that one attempt can cost: a strict bound, so that a charge never exceeds its hold. Counts every prompt token at the
 * highest input price for a prompt up to this size, and every completion token at the highest output price.
 */
export function dearestCost(bounds: TokenBounds, price: Price): Nusd {
  let input = Math.max(price.input, price.cachedInput ?? 0, price.cacheWrite ?? 0);
  let output = Math.max(price.output, price.reasoning ?? 0);
  for (const tier of price.tiers ?? []) {
    if (bounds.promptTokens <= tier.abovePromptTokens) break;
    input = Math.max(input, tier.input ?? 0, tier.cachedInput ?? 0, tier.cacheWrite ?? 0);
    output = Math.max(output, tier.output ?? 0);
  }
  return picoToNusdRoundedUp(
    BigInt(bounds.promptTokens) * BigInt(input) +
      BigInt(bounds.completionTokens) * BigInt(output) +
      BigInt(bounds.images ?? 0) * BigInt(price.image ?? 0) +
      BigInt(bounds.inputCharacters ?? 0) * BigInt(price.inputCharacter ?? 0),
  );
}

/** Whether a route with this price charges nothing, whatever a request uses. */
export const isFree = (price: Price): boolean =>
  dearestCost({ promptTokens: Number.MAX_SAFE_INTEGER, completionTokens: 1, images: 1, inputCharacters: 1 }, price) ===
  0n;

/**
 * Limits usage to the bounds of its hold. A provider's counts beyond them cannot be right. They would be charged up to the hold,
 * fill rate limits and overflow sums.
 */
export const clampUsage = (usage: Usage, bounds: TokenBounds): Usage => {
  const promptTokens = Math.min(usage.promptTokens, bounds.promptTokens);
  const cachedTokens = Math.min(usage.cachedTokens, promptTokens);
  const completionTokens = Math.min(usage.completionTokens, bounds.completionTokens);
  return {
    promptTokens,
    cachedTokens,
    cacheWriteTokens: Math.min(usage.cacheWriteTokens, promptTokens - cachedTokens),
    completionTokens,
    reasoningTokens: Math.min(usage.reasoningTokens, completionTokens),
    ...(usage.images === undefined ? {} : { images: Math.min(usage.images, bounds.images ?? 0) }),
    ...(usage.inputCharacters === undefined
      ? {}
      : { inputCharacters: Math.min(usage.inputCharacters, bounds.inputCharacters ?? 0) }),
  };
};
