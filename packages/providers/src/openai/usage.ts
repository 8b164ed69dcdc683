import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject, type JsonObject } from '../json.ts';

/**
 * Reads the `usage` object of an OpenAI-shaped answer; undefined where there is none that can be used.
 * A provider's own `cost` is never read, and fields beyond the OpenAI shape are dropped.
 *
 * @param options.hasCompletion - False for answers that have none, such as vectors. Elsewhere a usage that does not say
 *   what the completion was is no usage: taken as 0 it would give the answer away.
 */
export function readUsage(value: unknown, { hasCompletion = true } = {}): ReportedUsage | undefined {
  const raw = asObject(value);
  const promptTokens = asCount(raw?.prompt_tokens);
  if (raw === undefined || promptTokens === undefined) return undefined;
  const beyondPrompt = (asCount(raw.total_tokens) ?? 0) - promptTokens;
  const said = asCount(raw.completion_tokens) ?? (hasCompletion && beyondPrompt >= 0 ? beyondPrompt : undefined);
  if (said === undefined && hasCompletion) return undefined;
  const completion = said ?? 0;
  const promptDetails = counts(raw.prompt_tokens_details);
  const completionDetails = counts(raw.completion_tokens_details);
  const cachedTokens =
    promptDetails?.cached_tokens ??
    asCount(raw.prompt_cache_hit_tokens) ??
    asCount(raw.cached_tokens) ??
    asCount(raw.cache_read_input_tokens) ??
    0;
  const cacheWriteTokens = promptDetails?.cache_write_tokens ?? asCount(raw.cache_creation_input_tokens) ?? 0;
  const reasoning = completionDetails?.reasoning_tokens ?? asCount(raw.reasoning_tokens) ?? 0;
  const surplus = hasCompletion ? Math.max(beyondPrompt - completion, 0) : 0;
  const outside = outsideCompletion(surplus, { reasoning, cachedTokens, cacheWriteTokens });
  const reasoningTokens = Math.max(reasoning, outside);
  return {
    usage: {
      promptTokens,
      cachedTokens,
      cacheWriteTokens,
      completionTokens: Math.min(completion + outside, Number.MAX_SAFE_INTEGER),
      reasoningTokens,
    },
    details: {
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
    },
  };
}

/**
 * Output that a provider bills and leaves out of `completion_tokens`; its total gives it away. xAI names it in the
 * details, Gemini's OpenAI-shaped endpoint nowhere. A surplus that is the cached part of the prompt is not output.
 */
function outsideCompletion(
  surplus: number,
  told: { readonly reasoning: number; readonly cachedTokens: number; readonly cacheWriteTokens: number },
): number {
  const { reasoning, cachedTokens, cacheWriteTokens } = told;
  if (reasoning > 0) return surplus === reasoning ? reasoning : 0;
  return [cachedTokens, cacheWriteTokens, cachedTokens + cacheWriteTokens].includes(surplus) ? 0 : surplus;
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
