import type { ReportedUsage } from '../adapter.ts';
import { asCount, asObject, type JsonObject } from '../json.ts';

/**
 * Reads the `usage` object of an OpenAI-shaped answer; returns undefined if it is not usable. It never reads a
 * provider's own `cost`, and drops fields beyond OpenAI's shape.
 *
 * @param options.hasCompletion - False for answers without a completion, such as vectors. If true, usage without a completion
 *   count is not usable: counting it as 0 would make the answer free.
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
 * Returns output that a provider bills but leaves out of `completion_tokens`; it only shows in the total. xAI names it
 * in the details. Gemini's OpenAI-shaped endpoint does not name it. A surplus that equals the cached part of the prompt
 * is not output.
 */
function outsideCompletion(
  surplus: number,
  told: { readonly reasoning: number; readonly cachedTokens: number; readonly cacheWriteTokens: number },
): number {
  const { reasoning, cachedTokens, cacheWriteTokens } = told;
  if (reasoning > 0) return surplus === reasoning ? reasoning : 0;
  return [cachedTokens, cacheWriteTokens, cachedTokens + cacheWriteTokens].includes(surplus) ? 0 : surplus;
}

/** The usage of an answer without a completion, if its API reports only the prompt. */
export const promptUsage = (tokens: number | undefined): ReportedUsage | undefined =>
  readUsage({ prompt_tokens: tokens, total_tokens: tokens }, { hasCompletion: false });

/** Returns the counts of a details object that are whole numbers. */
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
