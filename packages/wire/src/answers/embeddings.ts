import { z } from 'zod';
import { usageAnswerSchema } from './usage.ts';

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
export type EmbeddingsAnswer = z.infer<typeof embeddingsAnswerSchema>;
