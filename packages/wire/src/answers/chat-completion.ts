import * as z from 'zod';
import { reasoningDetailSchema } from '../reasoning-details.ts';
import { errorAnswerSchema } from './error.ts';
import { usageAnswerSchema } from './usage.ts';

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** Why an answer ended, by OpenAI's own names: typed clients know no others. */
export const finishReasonSchema = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
export type FinishReason = z.infer<typeof finishReasonSchema>;

/** Body of a non-streaming answer of `POST /chat/completions`. It has every field that OpenAI's own schema requires. */
export const chatCompletionSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.literal(''),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        reasoning: z.string().optional(),
        reasoning_details: z.array(reasoningDetailSchema).optional(),
        tool_calls: z.array(toolCall).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReasonSchema,
    }),
  ),
  usage: usageAnswerSchema,
});
export type ChatCompletion = z.infer<typeof chatCompletionSchema>;

const toolCallDelta = z.strictObject({
  index: z.int(),
  id: z.string().optional(),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string().optional() }).optional(),
});

/**
 * One event of a streaming answer. The last one of a broken stream has `error` and the finish reason `error`, which
 * OpenAI does not have.
 */
export const chatChunkSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      delta: z.strictObject({
        role: z.literal('assistant').optional(),
        content: z.string().nullable().optional(),
        refusal: z.string().optional(),
        reasoning: z.string().optional(),
        reasoning_details: z.array(reasoningDetailSchema).optional(),
        tool_calls: z.array(toolCallDelta).optional(),
      }),
      finish_reason: z.enum([...finishReasonSchema.options, 'error']).nullable(),
    }),
  ),
  usage: usageAnswerSchema.optional(),
  error: errorAnswerSchema.shape.error.optional(),
});
export type ChatChunk = z.infer<typeof chatChunkSchema>;
