import * as z from 'zod';

/** A reasoning effort as models name them (`low`, `medium`, `high`, `minimal`, ...): levels are per model. */
export const reasoningEffortSchema = z
  .string()
  .regex(/^[a-z]{1,16}$/, { error: 'must be an effort level such as `low`' });

/** The request field `reasoning` (interface 2.3). `max_tokens` and `exclude` are refused with a reason of their own. */
export const reasoningSchema = z.strictObject({
  effort: reasoningEffortSchema.nullish(),
  enabled: z.boolean().nullish(),
  max_tokens: z
    .undefined({ error: 'is not supported: reasoning tokens share the `max_completion_tokens` ceiling' })
    .optional(),
  exclude: z
    .undefined({ error: 'is not supported: use `strip_thinking_response` of the provider parameters' })
    .optional(),
});

/** What a request chose for reasoning, in one form: absent fields were not chosen. */
export interface ReasoningSelection {
  readonly effort?: string;
  readonly enabled?: boolean;
}

/**
 * Folds `reasoning_effort` and `reasoning` into one selection.
 * Returns `conflict` when both name an effort and the efforts differ (design 6).
 */
export function reasoningSelection(request: {
  readonly reasoning_effort?: string | null | undefined;
  readonly reasoning?: z.infer<typeof reasoningSchema> | null | undefined;
}): ReasoningSelection | 'conflict' {
  const nested = request.reasoning?.effort ?? undefined;
  const flat = request.reasoning_effort ?? undefined;
  if (nested !== undefined && flat !== undefined && nested !== flat) return 'conflict';
  const effort = nested ?? flat;
  const enabled = request.reasoning?.enabled ?? undefined;
  return { ...(effort === undefined ? {} : { effort }), ...(enabled === undefined ? {} : { enabled }) };
}
