import * as z from 'zod';
import { maxMessages } from '../requests/messages.ts';

/** Ciphertext as the field schemes write it: lower-case hexadecimal pairs. */
const ciphertext = (overheadBytes: number) =>
  z
    .string()
    .min(overheadBytes * 2, { error: 'must be encrypted by the client' })
    .regex(/^(?:[0-9a-f]{2})+$/, { error: 'must be encrypted by the client' });

const amount = z.number().optional();

/**
 * A chat request whose contents are sealed field by field, as the relay sees it. Strict: a request on an encrypted route
 * that holds anything which could be content in clear is refused, not passed on.
 */
export const sealedChatSchema = (fieldOverheadBytes: number) =>
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
export type SealedChat = z.infer<ReturnType<typeof sealedChatSchema>>;
