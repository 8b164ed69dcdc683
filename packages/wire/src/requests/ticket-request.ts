import * as z from 'zod';
import { imageSizePattern, imageSizeSchema, maxSpeechCharacters, voiceSchema } from './media-request.ts';
import { modelIdField, modelNote, modelsField } from './model-ids.ts';
import { providerPolicySchema } from './provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from './reasoning.ts';

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

export const maxTicketsTogether = 16;

/** Body of `POST /inference/tickets`. Unknown keys are refused, so that clients cannot send content to control by mistake. */
export const ticketRequestSchema = z.strictObject({
  model: modelIdField.describe(modelNote),
  models: modelsField.nullish(),
  operation: z
    .enum(operations)
    .nullish()
    .describe('The operation that the ticket is for. Default: the operation of the model.'),
  provider: providerPolicySchema.nullish().describe('The same value as in the body that you will send.'),
  reasoning_effort: reasoningEffortSchema.nullish().describe('The same value as in the body that you will send.'),
  reasoning: reasoningSchema.nullish(),
  size: imageSizeSchema
    .nullish()
    .meta({ description: 'For images: `WIDTHxHEIGHT`, each from 128 to 2048.', pattern: imageSizePattern }),
  response_format: z.enum(['b64_json', 'mp3']).nullish(),
  input_chars: z
    .int()
    .min(1)
    .max(maxSpeechCharacters)
    .nullish()
    .describe('For speech: the exact length of the text in UTF-16 code units.'),
  voice: voiceSchema.nullish(),
  /** Number of tickets. All of them allow the same request, each once. */
  count: z.int().min(1).max(maxTicketsTogether).nullish(),
});
export type TicketRequest = z.infer<typeof ticketRequestSchema>;
