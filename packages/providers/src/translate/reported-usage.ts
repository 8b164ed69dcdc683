import type { ReportedUsage } from '../adapter.ts';

/** Token counts as providers report them, each already meaning what our meter means by it. */
export interface TokenCounts {
  /** All of the prompt, from the cache or not. */
  readonly prompt: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** All that was produced, reasoning included. */
  readonly completion: number;
  /** Undefined where the provider does not tell. */
  readonly reasoning: number | undefined;
}

/** Usage for the meter and, in the shape of OpenAI, for the client; undefined where a sum is no count any more. */
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
