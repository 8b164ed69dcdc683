import * as z from 'zod';
import { privacyClassSchema } from '../privacy-schema.ts';
import { preferencesSchema } from '../requests/preferences.ts';
import { pricingAnswerSchema } from './control.ts';

/** Answer of `POST /routing/preview` (design 6). */
export const routingPreviewAnswerSchema = z.strictObject({
  /** The model whose route comes first; the one that was asked for where there is none. */
  model: z.string(),
  routing: z.enum(['auto', 'exact']),
  /** Why `/auto` chose the model, and what left the others out; null for a model that was named. */
  choice: z.string().nullable(),
  /** In the order in which they are tried. */
  plan: z.array(
    z.strictObject({
      model: z.string(),
      provider: z.string(),
      privacy_class: privacyClassSchema,
      pricing: pricingAnswerSchema,
      penalized: z.boolean(),
      /** Whether it is first for an equal share of such requests (interface 3.4, Default); shown is the best order. */
      shares_traffic: z.boolean(),
    }),
  ),
  /** Every other route of the models that were asked for, with the one rule that left it out. */
  excluded: z.array(z.strictObject({ model: z.string(), provider: z.string(), rule: z.string(), message: z.string() })),
  /** What is set aside before the first attempt; null where the request would be refused. */
  hold_usd: z.number().nullable(),
  /** The error that the request would get; null where it would be sent. */
  refusal: z.strictObject({ type: z.string(), message: z.string() }).nullable(),
});
export type RoutingPreviewAnswer = z.infer<typeof routingPreviewAnswerSchema>;

/** Models and the providers that may serve them, best first. */
export const eligibleModelsAnswerSchema = z.strictObject({
  data: z.array(z.strictObject({ id: z.string(), providers: z.array(z.string()) })),
});
export type EligibleModelsAnswer = z.infer<typeof eligibleModelsAnswerSchema>;

/** The preferences of a workspace, and what they allow. */
export const effectiveRoutingAnswerSchema = eligibleModelsAnswerSchema.extend({ preferences: preferencesSchema });
