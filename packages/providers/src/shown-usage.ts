import type { Usage } from '@sotto/money';
import type { UsageAnswer } from '@sotto/wire';
import type { ReportedUsage } from './adapter.ts';

/**
 * Returns the usage for the client, without its cost. It has the metered counts, so that anyone can recompute the
 * charge, and the details that the provider reported.
 */
export function shownUsage(reported: ReportedUsage | undefined, metered: Usage): Omit<UsageAnswer, 'cost'> {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = metered;
  const { prompt_tokens_details: ofPrompt, completion_tokens_details: ofCompletion } = reported?.details ?? {};
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(ofPrompt === undefined ? {} : { prompt_tokens_details: { ...ofPrompt, cached_tokens: cachedTokens } }),
    ...(ofCompletion === undefined
      ? {}
      : { completion_tokens_details: { ...ofCompletion, reasoning_tokens: reasoningTokens } }),
  };
}
