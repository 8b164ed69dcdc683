import * as z from 'zod';

const shared = {
  /** Whose signature or encryption it is: only a provider that knows the format takes it back. */
  format: z.string().max(64).nullish(),
  /** Pieces of one index belong together, in order. */
  index: z.int().min(0).nullish(),
  id: z.string().max(256).nullish(),
};

/**
 * A piece of reasoning as a model must get it back to go on where it was, in the form that OpenRouter's clients know:
 * text with its signature, or what only the provider can read. Sent with an answer, returned with its message.
 */
export const reasoningDetailSchema = z.discriminatedUnion(
  'type',
  [
    z.object({
      type: z.literal('reasoning.text'),
      text: z.string().nullish(),
      signature: z.string().nullish(),
      ...shared,
    }),
    /** `id`: the tool call that it belongs to, if it is one's. */
    z.object({ type: z.literal('reasoning.encrypted'), data: z.string(), ...shared }),
    z.object({ type: z.literal('reasoning.summary'), summary: z.string(), ...shared }),
  ],
  { error: 'must have a `type` of reasoning.text, reasoning.encrypted or reasoning.summary' },
);
export type ReasoningDetail = z.infer<typeof reasoningDetailSchema>;
