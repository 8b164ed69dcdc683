import { z } from 'zod';
import { modelIdSchema, modelsSchema } from './chat-request.ts';
import { providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';

/** Body of `POST /inference/tickets` (interface 2.4, design 6). Content never belongs here: unknown keys are refused. */
export const ticketRequestSchema = z.strictObject({
  model: modelIdSchema,
  models: modelsSchema.nullish(),
  operation: z.enum(['chat', 'embeddings', 'image', 'speech']).nullish(),
  provider: providerPolicySchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  size: z
    .string()
    .regex(/^\d{3,4}x\d{3,4}$/, { error: 'must be WIDTHxHEIGHT, such as 1024x1024' })
    .nullish(),
  response_format: z.enum(['b64_json', 'mp3']).nullish(),
  input_chars: z.int().min(1).max(20_000).nullish(),
  voice: z.string().min(1).max(128).nullish(),
});
export type TicketRequest = z.infer<typeof ticketRequestSchema>;
