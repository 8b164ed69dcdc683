import * as z from 'zod';
import { imageSizeSchema, maxSpeechCharacters, voiceSchema } from './media-request.ts';
import { modelIdField, modelsField } from './model-ids.ts';
import { providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';

/** The operations of inference requests. */
export const operations = ['chat', 'embeddings', 'image', 'speech'] as const;
export type Operation = (typeof operations)[number];

/** Path of each operation at the confidential origin. */
export const operationPaths = {
  chat: '/v1/chat/completions',
  embeddings: '/v1/embeddings',
  image: '/v1/images/generations',
  speech: '/v1/audio/speech',
} as const satisfies Readonly<Record<Operation, string>>;

/** Returns the operation of a path of the confidential origin. Undefined if the path takes no content. */
export const operationAt = (path: string): Operation | undefined =>
  operations.find((operation) => operationPaths[operation] === path);

/** The most tickets of one request. */
export const maxTicketsTogether = 16;

/** Body of `POST /inference/tickets`. Unknown keys are refused, so that clients cannot send content to control by mistake. */
export const ticketRequestSchema = z.strictObject({
  model: modelIdField,
  models: modelsField.nullish(),
  operation: z.enum(operations).nullish(),
  provider: providerPolicySchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  size: imageSizeSchema.nullish(),
  response_format: z.enum(['b64_json', 'mp3']).nullish(),
  input_chars: z.int().min(1).max(maxSpeechCharacters).nullish(),
  voice: voiceSchema.nullish(),
  /** Number of tickets. All of them allow the same request, each once. */
  count: z.int().min(1).max(maxTicketsTogether).nullish(),
});
export type TicketRequest = z.infer<typeof ticketRequestSchema>;
