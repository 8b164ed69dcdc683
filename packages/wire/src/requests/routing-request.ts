import * as z from 'zod';
import { modelIdSchema, modelsSchema } from './model-ids.ts';
import { preferencesRequestSchema } from './preferences.ts';
import { providerPolicySchema } from './provider-policy.ts';

const tokens = z.int().min(0).max(100_000_000);

/** Body of `POST /routing/preview`: a request without its content, and optionally a draft of preferences. */
export const routingPreviewRequestSchema = z.strictObject({
  model: modelIdSchema,
  models: modelsSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  prompt_tokens: tokens.nullish(),
  max_tokens: tokens.min(1).nullish(),
  tools: z.boolean().nullish(),
  vision: z.boolean().nullish(),
  structured_output: z.boolean().nullish(),
  workspace_id: z.uuid().nullish(),
  /** A draft. The router checks whether its fields agree. */
  preferences: preferencesRequestSchema.nullish(),
});
export type RoutingPreview = z.infer<typeof routingPreviewRequestSchema>;

/** Body of `POST /routing/eligible-models`. */
export const eligibleModelsRequestSchema = z.strictObject({ preferences: preferencesRequestSchema });

/** Query of `/routing/preferences`. The default is the default workspace. */
export const workspaceQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });
