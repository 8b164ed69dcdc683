import * as z from 'zod';
import { type UsageAnswer, usageAnswerSchema } from './usage.ts';

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
 * The JSON of an answer around vectors that are JSON already: megabytes that stay the pieces they came in.
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
