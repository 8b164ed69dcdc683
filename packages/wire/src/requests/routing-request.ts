import * as z from 'zod';
import { modelIdSchema, modelsSchema } from './chat-request.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** Preferences as somebody wrote them; what they mean, and whether they agree, the router says. */
const draftPreferences = z.record(z.string(), z.unknown());
const tokens = z.int().min(0).max(100_000_000);

/** Body of `POST /routing/preview` (design 6): a request without its content, and perhaps a draft of preferences. */
export const routingPreviewSchema = z.strictObject({
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
export type RoutingPreview = z.infer<typeof routingPreviewSchema>;

/** Body of `POST /routing/eligible-models` (design 6). */
export const eligibleModelsSchema = z.strictObject({ preferences: draftPreferences });

/** Query of `/routing/preferences` (interface 2.8): without a workspace, the default one. */
export const workspaceQuerySchema = z.strictObject({ workspace_id: z.uuid().optional() });
