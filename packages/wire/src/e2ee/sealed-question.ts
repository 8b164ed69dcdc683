import * as z from 'zod';
import { modelIdSchema } from '../requests/chat-request.ts';
import { providerPolicySchema } from '../requests/provider-policy.ts';
import { reasoningEffortSchema, reasoningSchema } from '../requests/reasoning.ts';
import { e2eeFamilies } from './relay-rules.ts';

/**
 * What the header `x-router-e2ee` says of a sealed chat request, as JSON: the selections that its ticket binds, which the
 * body hides or names otherwise, and what the relay must know of a body that it cannot read. Nothing of the content.
 */
export const sealedQuestionSchema = z.strictObject({
  /** The family whose enclave the body is sealed for. */
  family: z.enum(e2eeFamilies),
  model: modelIdSchema,
  provider: providerPolicySchema.nullish(),
  reasoning_effort: reasoningEffortSchema.nullish(),
  reasoning: reasoningSchema.nullish(),
  /** Whether the sealed body asks for a stream. */
  stream: z.boolean(),
});
export type SealedQuestion = z.infer<typeof sealedQuestionSchema>;
