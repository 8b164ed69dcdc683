import { type Nusd, picoToNusdRoundedUp } from './amounts.ts';
import type { Usage } from './cost.ts';
import type { Price } from './price.ts';

/** Upper bounds of what one attempt can use. */
export interface TokenBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly images?: number;
  readonly inputCharacters?: number;
}

/**
 * The most one attempt can cost: a true bound, so that a charge never exceeds its hold.
 * Every prompt token counts at the dearest of the input prices that a prompt of up to this size can meet, every
 * completion token at the dearest of the output prices.
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

/**
 * Usage within the bounds of a hold. A provider's counts beyond them are not believed: they would be charged up to the
 * hold, fill rate limits, and make sums of them overflow.
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

/** Splits a cost into what the hold covers and the excess, which the operator bears. */
export function capToHold(costNusd: Nusd, holdNusd: Nusd): { readonly chargeNusd: Nusd; readonly excessNusd: Nusd } {
  const chargeNusd = costNusd < holdNusd ? costNusd : holdNusd;
  return { chargeNusd, excessNusd: costNusd - chargeNusd };
}
