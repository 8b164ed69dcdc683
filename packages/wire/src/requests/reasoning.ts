import * as z from 'zod';
import { ServiceError } from '../errors.ts';

/** A reasoning effort as models name them (`low`, `medium`, `high`, `minimal`, ...): levels are per model. */
export const reasoningEffortSchema = z
  .string()
  .regex(/^[a-z]{1,16}$/, { error: 'must be an effort level such as `low`' });

/** The request field `reasoning` (interface 2.3). `max_tokens` and `exclude` are refused with a reason of their own. */
export const reasoningSchema = z.strictObject({
  effort: reasoningEffortSchema.nullish(),
  enabled: z.boolean().nullish(),
  /** Asks OpenAI's Responses API how much to tell of the reasoning. Here all of it is told that a provider tells. */
  summary: z.unknown().optional(),
  max_tokens: z
    .undefined({ error: 'is not supported: reasoning tokens share the `max_completion_tokens` ceiling' })
    .nullish(),
  exclude: z
    .undefined({ error: 'is not supported: use `strip_thinking_response` of the provider parameters' })
    .nullish(),
});

/** What a request chose for reasoning, in one form: absent fields were not chosen. */
export interface ReasoningSelection {
  readonly effort?: string;
  readonly enabled?: boolean;
}

/**
 * Folds `reasoning_effort` and `reasoning` into one selection. Throws `invalid_request` where they contradict each other.
 */
export function reasoningSelection(request: {
  readonly reasoning_effort?: string | null | undefined;
  readonly reasoning?: z.infer<typeof reasoningSchema> | null | undefined;
}): ReasoningSelection {
  const nested = request.reasoning?.effort ?? undefined;
  const flat = request.reasoning_effort ?? undefined;
  if (nested !== undefined && flat !== undefined && nested !== flat) {
    throw new ServiceError('invalid_request', {
      message: '`reasoning_effort` and `reasoning.effort` ask for different efforts. Send one of them.',
      param: 'reasoning_effort',
    });
  }
  const effort = nested ?? flat;
  const enabled = request.reasoning?.enabled ?? undefined;
  if (effort !== undefined && enabled === (effort === 'none')) {
    throw new ServiceError('invalid_request', {
      message: `\`reasoning.enabled\` is ${enabled}, but the effort is \`${effort}\`. Send one of them.`,
      param: 'reasoning.enabled',
    });
  }
  return { ...(effort === undefined ? {} : { effort }), ...(enabled === undefined ? {} : { enabled }) };
}

/** Whether two selections ask for the same: `{"enabled": false}` and the effort `none` do, and an effort enables thinking. */
export const isSameReasoning = (one: ReasoningSelection, other: ReasoningSelection): boolean =>
  meaningOf(one) === meaningOf(other);

const meaningOf = ({ effort, enabled }: ReasoningSelection): string | boolean | undefined =>
  enabled === false ? 'none' : (effort ?? enabled);
