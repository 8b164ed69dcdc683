import * as z from 'zod';
import { maxMessages } from '../requests/messages.ts';
import { modelIdField } from '../requests/model-ids.ts';
import { providerPolicySchema } from '../requests/provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from '../requests/reasoning.ts';
import { e2eeFamilies } from './relay-rules.ts';

/** Ciphertext of one field: lower-case hexadecimal pairs. */
const ciphertext = (overheadBytes: number) =>
  z
    .string()
    .min(overheadBytes * 2, { error: 'must be encrypted by the client' })
    .regex(/^(?:[0-9a-f]{2})+$/, { error: 'must be encrypted by the client' });

const amount = z.number().optional();

type SealedChatSchema = ReturnType<typeof newSealedChatSchema>;
/** One schema for each overhead of a relay's variants, because a new one is compiled at its first use. */
const schemas = new Map<number, SealedChatSchema>();

/**
 * A chat request whose fields are encrypted one by one, as the broker sees it. Strict: the broker refuses a request with any field
 * that could hold plaintext content.
 */
export function sealedChatSchema(fieldOverheadBytes: number): SealedChatSchema {
  const schema = schemas.get(fieldOverheadBytes) ?? newSealedChatSchema(fieldOverheadBytes);
  schemas.set(fieldOverheadBytes, schema);
  return schema;
}

const newSealedChatSchema = (fieldOverheadBytes: number) =>
  z.strictObject({
    /** The provider's own name of the model. */
    model: z.string().min(1).max(256),
    messages: z
      .array(
        z.strictObject({
          role: z.enum(['system', 'developer', 'user', 'assistant']),
          content: ciphertext(fieldOverheadBytes),
        }),
      )
      .min(1)
      .max(maxMessages),
    stream: z.boolean(),
    stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
    temperature: amount,
    top_p: amount,
    seed: amount,
    frequency_penalty: amount,
    presence_penalty: amount,
    max_tokens: z.int().min(1).optional(),
    max_completion_tokens: z.int().min(1).optional(),
    reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
    venice_parameters: z.strictObject({ enable_e2ee: z.literal(true) }).optional(),
  });
export type SealedChat = z.infer<SealedChatSchema>;

/**
 * The JSON in the header `x-router-e2ee` of an encrypted chat request. It has the selections that the ticket binds, which the
 * body hides, and what the broker must know about a body that it cannot read. It has no content.
 */
export const sealedQuestionSchema = z.strictObject({
  family: z.enum(e2eeFamilies).describe('The provider family whose enclave the body is encrypted for.'),
  model: modelIdField,
  provider: providerPolicySchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  /** Whether the encrypted body requests a stream. */
  stream: z.boolean(),
});
export type SealedQuestion = z.infer<typeof sealedQuestionSchema>;
