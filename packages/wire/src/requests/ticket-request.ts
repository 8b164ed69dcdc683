import * as z from 'zod';
import { nonceSchema } from '../field-schemas.ts';
import { imageSizeSchema, maxSpeechCharacters, voiceSchema } from './media-request.ts';
import { modelIdSchema, modelsSchema } from './model-ids.ts';
import { providerIdSchema, providerPolicySchema } from './provider-policy.ts';
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
  /** Number of tickets. All of them allow the same request, each once. */
  count: z.int().min(1).max(maxTicketsTogether).nullish(),
});
export type TicketRequest = z.infer<typeof ticketRequestSchema>;

/** Body of `POST /inference/attestation-tickets`: the enclave to verify. */
export const attestationTicketRequestSchema = z.strictObject({
  model: modelIdSchema,
  provider: providerPolicySchema.nullish(),
});
export type AttestationTicketRequest = z.infer<typeof attestationTicketRequestSchema>;

/** Body of `POST /tee/attestation`. The ticket names the enclave. */
export const teeAttestationRequestSchema = z.strictObject({ nonce: nonceSchema });

/** Query of `GET /tee/attestation` on the control origin: the fields of both bodies above. */
export const teeAttestationQuerySchema = z.strictObject({
  model: modelIdSchema,
  provider: providerIdSchema.optional(),
  nonce: nonceSchema,
});
