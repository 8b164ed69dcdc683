import * as z from 'zod';
import { reasoningDetailSchema } from '../requests/reasoning.ts';

const count = z.int().min(0);

/**
 * Token usage as clients see it: the provider's own numbers, and `cost` in USD.
 * Loose, so that further details of a provider (audio, prediction tokens) arrive unchanged.
 */
export const usageAnswerSchema = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.optional(),
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count.nullish() }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count.nullish() }).nullish(),
  cost: z.number().min(0).describe('USD.'),
});
export type UsageAnswer = z.infer<typeof usageAnswerSchema>;

const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** Why an answer ended. Only OpenAI's names, because typed clients accept no others. */
const finishReasonSchema = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);
export type FinishReason = z.infer<typeof finishReasonSchema>;

/** Body of a non-streaming answer of `POST /chat/completions`, with every field that OpenAI's schema requires. */
export const chatCompletionSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string().describe('The canonical id of the model that served.'),
  system_fingerprint: z.literal(''),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        reasoning: z
          .string()
          .optional()
          .describe('The thoughts of the model, if its provider shows them. `reasoning_content` has the same text.'),
        reasoning_content: z.string().optional(),
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

/** One event of a streaming answer. If the stream breaks, its last event is an `errorAnswerSchema`, and the body has no end. */
export const chatChunkSchema = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.literal(''),
  choices: z.array(
    z.strictObject({
      index: z.int(),
      delta: z.strictObject({
        role: z.literal('assistant').optional(),
        content: z.string().nullable().optional(),
        refusal: z.string().optional(),
        reasoning: z.string().optional(),
        reasoning_content: z.string().optional(),
        reasoning_details: z.array(reasoningDetailSchema).optional(),
        tool_calls: z.array(toolCallDelta).optional(),
      }),
      finish_reason: finishReasonSchema.nullable(),
    }),
  ),
  usage: usageAnswerSchema.optional(),
});
export type ChatChunk = z.infer<typeof chatChunkSchema>;

/** Body of an answer of `POST /embeddings`: vectors as numbers, or base64 of little-endian 32-bit floats. */
export const embeddingsAnswerSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: z.int().min(0),
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage: usageAnswerSchema,
});

/**
 * Writes the JSON of an answer around vectors that are JSON already, so that megabytes are not copied.
 * `usage` has no completion.
 */
export function embeddingsAnswerPieces<Piece>(answer: {
  readonly vectors: readonly (readonly Piece[])[];
  readonly model: string;
  readonly usage: Omit<UsageAnswer, 'completion_tokens'>;
}): (string | Piece)[] {
  const { vectors, model, usage } = answer;
  const data = vectors.flatMap((vector, index) => [
    `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":`,
    ...vector,
    '}',
  ]);
  return ['{"object":"list","data":[', ...data, `],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`];
}

/** Body of an answer of `POST /images/generations`. */
export const imagesAnswerSchema = z.strictObject({
  created: z.int(),
  model: z.string(),
  data: z.array(z.strictObject({ b64_json: z.base64(), mime_type: z.string().regex(/^image\//) })),
});
export type ImagesAnswer = z.infer<typeof imagesAnswerSchema>;

/**
 * The JSON of an answer with one image, before and after its base64. The caller writes the megabytes of base64 in between.
 * `created` is in Unix seconds.
 */
export function imagesAnswerAround(answer: {
  readonly created: number;
  readonly model: string;
  readonly mimeType: string;
}): { readonly head: string; readonly tail: string } {
  const { created, model, mimeType } = answer;
  return {
    head: `{"created":${created},"model":${JSON.stringify(model)},"data":[{"b64_json":"`,
    tail: `","mime_type":${JSON.stringify(mimeType)}}]}`,
  };
}
