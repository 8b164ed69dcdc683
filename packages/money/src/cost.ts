import { type Nusd, picoToNusdRoundedUp } from './amounts.ts';
import { type Price, pricesAt } from './price.ts';

/** Usage of one request, as the provider reported or the broker counted it. Counts are whole and never negative. */
export interface Usage {
  readonly promptTokens: number;
  /** The part of the prompt that was read from a cache. */
  readonly cachedTokens: number;
  /** The part of the prompt that was written to a cache. */
  readonly cacheWriteTokens: number;
  /** Completion tokens, reasoning included. */
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  /** Generated images. */
  readonly images?: number;
  /** UTF-16 code units of the synthesized text. */
  readonly inputCharacters?: number;
}

export const noUsage: Usage = {
  promptTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
};

/**
 * The exact cost of one request at one price, summed in pico-USD and rounded up once.
 * Cached and cache-write tokens beyond the prompt are not charged and do not make the uncached part negative. A provider that
 * counts tokens twice must not make the client pay twice.
 */
export function cost(usage: Usage, price: Price): Nusd {
  const { input, output, cachedInput, cacheWrite } = pricesAt(price, usage.promptTokens);
  const cached = Math.min(usage.cachedTokens, usage.promptTokens);
  const written = Math.min(usage.cacheWriteTokens, usage.promptTokens - cached);
  const uncached = usage.promptTokens - cached - written;
  const reasoning = price.reasoning === undefined ? 0 : Math.min(usage.reasoningTokens, usage.completionTokens);
  return picoToNusdRoundedUp(
    times(uncached, input) +
      times(cached, cachedInput) +
      times(written, cacheWrite) +
      times(usage.completionTokens - reasoning, output) +
      times(reasoning, price.reasoning ?? 0) +
      times(usage.images ?? 0, price.image ?? 0) +
      times(usage.inputCharacters ?? 0, price.inputCharacter ?? 0),
  );
}

const times = (units: number, pico: number): bigint => BigInt(units) * BigInt(pico);
