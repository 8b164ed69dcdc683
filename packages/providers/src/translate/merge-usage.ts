import { asObject, type JsonObject } from '../json.ts';

/** The fields of all APIs that count the prompt or its parts. */
const promptFields = [
  ...['prompt_tokens', 'prompt_tokens_details', 'prompt_cache_hit_tokens', 'cached_tokens'],
  ...['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'],
  ...['promptTokenCount', 'toolUsePromptTokenCount', 'cachedContentTokenCount'],
  ...['inputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'],
] as const;

/**
 * Merges two usage objects of one stream. A later one may leave out parts of the prompt, or send null or zero for them.
 * What an earlier one said about the prompt then still holds. Output grows, so only the later one counts for it.
 */
export function mergeUsage(before: JsonObject, later: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...later };
  for (const field of promptFields) {
    const known = before[field];
    if (known == null) continue;
    const [details, laterDetails] = [asObject(known), asObject(later[field])];
    merged[field] =
      details && laterDetails ? { ...details, ...withoutEmpty(laterDetails) } : later[field] ? later[field] : known;
  }
  return merged;
}

const withoutEmpty = (raw: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(raw).filter(([, value]) => value != null && value !== 0));
