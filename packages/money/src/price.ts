import type { PicoUsd } from './amounts.ts';

/** Prices above a prompt size. They replace the base prices for the whole request. */
export interface PriceTier {
  readonly abovePromptTokens: number;
  readonly input?: PicoUsd;
  readonly output?: PicoUsd;
  readonly cachedInput?: PicoUsd;
  readonly cacheWrite?: PicoUsd;
}

/** Prices of one route, in pico-USD per unit. */
export interface Price {
  /** Per prompt token that was neither read from a cache nor written to one. */
  readonly input: PicoUsd;
  /** Per completion token. */
  readonly output: PicoUsd;
  /** Per prompt token read from a cache. Default: `input`. */
  readonly cachedInput?: PicoUsd;
  /** Per prompt token written to a cache. Default: `input`. */
  readonly cacheWrite?: PicoUsd;
  /** Per reasoning token. Default: `output`, because reasoning tokens are completion tokens. */
  readonly reasoning?: PicoUsd;
  /** Per generated image. */
  readonly image?: PicoUsd;
  /** Per input character of speech. */
  readonly inputCharacter?: PicoUsd;
  /** In ascending order of `abovePromptTokens`. */
  readonly tiers?: readonly PriceTier[];
}

/** Returns the prices for a prompt of a given size. */
export function pricesAt(
  price: Price,
  promptTokens: number,
): Required<Pick<Price, 'input' | 'output' | 'cachedInput' | 'cacheWrite'>> {
  let { input, output, cachedInput, cacheWrite } = price;
  for (const tier of price.tiers ?? []) {
    if (promptTokens <= tier.abovePromptTokens) break;
    input = tier.input ?? input;
    output = tier.output ?? output;
    cachedInput = tier.cachedInput ?? cachedInput;
    cacheWrite = tier.cacheWrite ?? cacheWrite;
  }
  return { input, output, cachedInput: cachedInput ?? input, cacheWrite: cacheWrite ?? input };
}

/**
 * One number to compare routes by price: the base price of three prompt tokens and one completion token, which is the
 * usual proportion of chat traffic. In pico-USD; images and characters count as themselves.
 */
export function comparablePrice(price: Price): number {
  return price.input * 3 + price.output + (price.image ?? 0) + (price.inputCharacter ?? 0);
}
