import * as z from 'zod';
import { modelIdSchema, modelsSchema } from './chat-request.ts';
import { imageSizeSchema } from './image-request.ts';
import { providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';
import { maxSpeechCharacters, voiceSchema } from './speech-request.ts';

/** What a request can be for. */
export const operations = ['chat', 'embeddings', 'image', 'speech'] as const;
export type Operation = (typeof operations)[number];

/** Body of `POST /inference/tickets` (interface 2.4, design 6). Content never belongs here: unknown keys are refused. */
export const ticketRequestSchema = z.strictObject({
  model: modelIdSchema,
  models: modelsSchema.nullish(),
  operation: z.enum(operations).nullish(),
  provider: providerPolicySchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  size: imageSizeSchema.nullish(),
  response_format: z.enum(['b64_json', 'mp3']).nullish(),
  input_chars: z.int().min(1).max(maxSpeechCharacters).nullish(),
  voice: voiceSchema.nullish(),
});
export type TicketRequest = z.infer<typeof ticketRequestSchema>;
