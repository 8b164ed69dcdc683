import type { ReportedUsage } from '../adapter.ts';
import type { JsonObject } from '../json.ts';

/** Reads the usage object of one API. Undefined if it is not usable. */
export type UsageReader = (usage: JsonObject) => ReportedUsage | undefined;

/** Token counts as providers report them, converted to the meanings of our meter. */
export interface TokenCounts {
  /** The whole prompt, cached or not. */
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** All output, including reasoning. */
  readonly completion: number;
  /** Undefined if the provider does not report it. */
  readonly reasoning: number | undefined;
}

/**
 * Converts counts to usage for the meter and, in OpenAI's shape, for the client. Returns undefined if a sum is not a
 * safe integer.
 */
export function reportedUsage(counts: TokenCounts): ReportedUsage | undefined {
  const { prompt, cached, cacheWrite, completion, reasoning } = counts;
  if (!Number.isSafeInteger(prompt + completion)) return undefined;
  return {
    usage: {
      promptTokens: prompt,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite,
      completionTokens: completion,
      reasoningTokens: reasoning ?? 0,
    },
    details: {
      prompt_tokens_details: { cached_tokens: cached, ...(cacheWrite === 0 ? {} : { cache_write_tokens: cacheWrite }) },
      ...(reasoning === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoning } }),
    },
  };
}

/**
 * Returns usage that can be right for an answer of this size. Undefined for one without output tokens beside output: it
 * would make the answer free.
 */
export const plausibleUsage = (
  reported: ReportedUsage | undefined,
  producedBytes: number,
): ReportedUsage | undefined => (producedBytes > 0 && reported?.usage.completionTokens === 0 ? undefined : reported);
