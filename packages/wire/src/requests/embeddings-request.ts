import { z } from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** The most inputs one embeddings request may hold. */
export const maxEmbeddingInputs = 2048;

const tokenId = z.int().min(0).max(4_294_967_295);
const tokens = z.array(tokenId).min(1).max(1_000_000);

/** Body of `POST /embeddings` (interface 4.1, the OpenAI shape). */
export const embeddingsRequestSchema = z.object({
  model: modelIdSchema,
  input: z.union(
    [
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(maxEmbeddingInputs),
      tokens,
      z.array(tokens).min(1).max(maxEmbeddingInputs),
    ],
    {
      error: `must be a text, up to ${maxEmbeddingInputs} texts, a token array, or up to ${maxEmbeddingInputs} token arrays`,
    },
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(65_536).nullish(),
  provider: providerPolicySchema.nullish(),
  user: z.string().max(256).nullish(),
});
export type EmbeddingsRequest = z.infer<typeof embeddingsRequestSchema>;
