import * as z from 'zod';

const count = z.int().min(0);

/**
 * Token usage as clients see it: the provider's own numbers, and `cost` in USD (interface 2.3).
 * Loose, so that further details of a provider (audio, prediction tokens) arrive unchanged.
 */
export const usageAnswerSchema = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.optional(),
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count.nullish() }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count.nullish() }).nullish(),
  cost: z.number().min(0),
});
export type UsageAnswer = z.infer<typeof usageAnswerSchema>;
