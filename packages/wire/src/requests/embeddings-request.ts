import * as z from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { embeddingsInputSchema } from './embeddings-input.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** Body of `POST /embeddings` (interface 4.1, the OpenAI shape). Fields not named here, `user` too, go nowhere. */
export const embeddingsRequestSchema = z.object({
  model: modelIdSchema,
  input: embeddingsInputSchema,
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(65_536).nullish(),
  provider: providerPolicySchema.nullish(),
});
export type EmbeddingsRequest = z.infer<typeof embeddingsRequestSchema>;
