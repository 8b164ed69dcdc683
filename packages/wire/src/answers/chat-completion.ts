import * as z from 'zod';
import { reasoningDetailSchema } from '../reasoning-details.ts';
import { usageAnswerSchema } from './usage.ts';

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** Body of a non-streaming answer of `POST /chat/completions`. */
export const chatCompletionSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().optional(),
        reasoning: z.string().optional(),
        reasoning_details: z.array(reasoningDetailSchema).optional(),
        tool_calls: z.array(toolCall).optional(),
      }),
      finish_reason: z.string(),
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

/** One event of a streaming answer: a chunk, or, as the last of a broken stream, a chunk with `error` (design 6). */
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
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: usageAnswerSchema.optional(),
  error: z.strictObject({ message: z.string(), type: z.string(), request_id: z.string() }).optional(),
});
export type ChatChunk = z.infer<typeof chatChunkSchema>;
