import type { Usage } from '@sotto/money';
import type { UsageAnswer } from '@sotto/wire';
import type { ReportedUsage } from './adapter.ts';

/**
 * Usage as the client sees it, without its cost: the metered counts, so that anybody can compute the charge from them,
 * and the details that the provider told.
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
