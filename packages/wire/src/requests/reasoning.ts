import * as z from 'zod';
import { ServiceError } from '../errors.ts';
import { contentSchema } from './content-bounds.ts';

/** A reasoning effort, such as `low` or `high`. Each model has its own levels. */
export const reasoningEffortSchema = z
  .string()
  .regex(/^[a-z]{1,16}$/, { error: 'must be an effort level such as `low`' });

/** The request field `reasoning`. `max_tokens` and `exclude` are refused with their own messages. */
export const reasoningSchema = z
  .strictObject({
    effort: reasoningEffortSchema.nullish(),
    enabled: z.boolean().nullish(),
    /** A field of OpenAI's Responses API, without effect: the answer has all reasoning that the provider sends. */
    summary: z.string().max(64).nullish(),
    max_tokens: z
      .undefined({ error: 'is not supported: reasoning tokens share the `max_completion_tokens` ceiling' })
      .nullish(),
    exclude: z
      .undefined({ error: 'is not supported: use `strip_thinking_response` of the provider parameters' })
      .nullish(),
  })
  .meta({ title: 'ReasoningSettings' });

/** The reasoning settings of a request in one form. Absent fields were not set. */
export interface ReasoningSelection {
  readonly effort?: string;
  readonly enabled?: boolean;
}

/**
 * Merges `reasoning_effort` and `reasoning` into one selection. Throws `invalid_request` if they contradict each other.
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

/** Whether two selections are equivalent: `{"enabled": false}` equals the effort `none`, and any other effort enables reasoning. */
export const isSameReasoning = (one: ReasoningSelection, other: ReasoningSelection): boolean =>
  meaningOf(one) === meaningOf(other);

const meaningOf = ({ effort, enabled }: ReasoningSelection): string | boolean | undefined =>
  enabled === false ? 'none' : (effort ?? enabled);

const shared = {
  /** Format of the signature or encryption. Only providers that know the format accept the piece back. */
  format: z.string().max(64).nullish(),
  /** Pieces with the same index belong together, in order. */
  index: z.int().min(0).max(1_000_000).nullish(),
  id: z.string().max(256).nullish(),
};

/**
 * A piece of reasoning, in the form that OpenRouter's clients use: text with its signature, or data that only the provider can
 * read. An answer carries it, and the client returns it with the message so that the model can continue.
 */
export const reasoningDetailSchema = z.discriminatedUnion(
  'type',
  [
    z
      .object({
        type: z.literal('reasoning.text'),
        text: contentSchema.nullish(),
        signature: contentSchema.nullish(),
        ...shared,
      })
      .meta({ title: 'ReasoningText' }),
    /** `id`: the tool call that it belongs to, if any. */
    z
      .object({ type: z.literal('reasoning.encrypted'), data: contentSchema, ...shared })
      .meta({ title: 'ReasoningEncrypted' }),
    z
      .object({ type: z.literal('reasoning.summary'), summary: contentSchema, ...shared })
      .meta({ title: 'ReasoningSummary' }),
  ],
  { error: 'must have a `type` of reasoning.text, reasoning.encrypted or reasoning.summary' },
);
export type ReasoningDetail = z.infer<typeof reasoningDetailSchema>;
