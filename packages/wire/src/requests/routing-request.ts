import * as z from 'zod';
import { maxControlBytes } from './content-bounds.ts';
import { jsonObjectSchema } from './json-object.ts';
import { modelIdSchema, modelsSchema } from './model-ids.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** A draft of preferences. The router checks whether its fields agree. */
const draftPreferences = jsonObjectSchema.meta({
  ...jsonObjectSchema.meta(),
  'x-max-bytes': maxControlBytes,
});
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
  preferences: draftPreferences.nullish(),
});
export type RoutingPreview = z.infer<typeof routingPreviewRequestSchema>;

/** Body of `POST /routing/eligible-models`. */
export const eligibleModelsRequestSchema = z.strictObject({ preferences: draftPreferences });

/** Query of `/routing/preferences`. The default is the default workspace. */
export const workspaceQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });
