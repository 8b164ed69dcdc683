import type { UsageAnswer } from '@sotto/wire';
import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject, type JsonObject } from '../json.ts';

/**
 * Reads the `usage` object of an OpenAI-shaped answer; undefined where there is none that can be used.
 * A provider's own `cost` is never read. Fields beyond the OpenAI shape are dropped, its numbers are not changed.
 *
 * @param options.hasCompletion - False for answers that have none, such as vectors. Elsewhere a usage that does not say
 *   what the completion was is no usage: taken as 0 it would give the answer away.
 */
export function readUsage(value: unknown, { hasCompletion = true } = {}): ReportedUsage | undefined {
  const raw = asObject(value);
  const promptTokens = asCount(raw?.prompt_tokens);
  if (raw === undefined || promptTokens === undefined) return undefined;
  const saidTotal = asCount(raw.total_tokens);
  const rest = saidTotal === undefined || saidTotal < promptTokens ? undefined : saidTotal - promptTokens;
  const completion = asCount(raw.completion_tokens) ?? (hasCompletion ? rest : 0);
  if (completion === undefined) return undefined;
  const total = saidTotal ?? promptTokens + completion;
  const promptDetails = counts(raw.prompt_tokens_details);
  const completionDetails = counts(raw.completion_tokens_details);
  const cachedTokens =
    promptDetails?.cached_tokens ??
    asCount(raw.prompt_cache_hit_tokens) ??
    asCount(raw.cached_tokens) ??
    asCount(raw.cache_read_input_tokens) ??
    0;
  const cacheWriteTokens = promptDetails?.cache_write_tokens ?? asCount(raw.cache_creation_input_tokens) ?? 0;
  const reasoningTokens = completionDetails?.reasoning_tokens ?? asCount(raw.reasoning_tokens) ?? 0;
  // Some providers count reasoning outside completion_tokens; their total gives them away. Billing wants the whole.
  const outside = reasoningTokens > 0 && total === promptTokens + completion + reasoningTokens;
  const shown: Omit<UsageAnswer, 'cost'> = {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: total,
    ...(promptDetails === undefined && cachedTokens === 0
      ? {}
      : { prompt_tokens_details: { ...promptDetails, cached_tokens: cachedTokens } }),
    ...(completionDetails === undefined && reasoningTokens === 0
      ? {}
      : {
          completion_tokens_details: {
            ...completionDetails,
            ...(reasoningTokens === 0 ? {} : { reasoning_tokens: reasoningTokens }),
          },
        }),
  };
  return {
    usage: {
      promptTokens,
      cachedTokens,
      cacheWriteTokens,
      completionTokens: outside ? Math.min(completion + reasoningTokens, Number.MAX_SAFE_INTEGER) : completion,
      reasoningTokens,
    },
    shown,
  };
}

/** The usage of an answer that has no completion, where its API tells the prompt alone. */
export const promptUsage = (tokens: number | undefined): ReportedUsage | undefined =>
  readUsage({ prompt_tokens: tokens, total_tokens: tokens }, { hasCompletion: false });

/** The whole counts of a details object. */
function counts(value: unknown): Record<string, number> | undefined {
  const raw: JsonObject | undefined = asObject(value);
  if (raw === undefined) return undefined;
  const kept: Record<string, number> = {};
  for (const [name, entry] of Object.entries(raw)) {
    const count = asCount(entry);
    if (count !== undefined && /^[a-z_]{1,40}$/.test(name)) kept[name] = count;
  }
  return kept;
}
