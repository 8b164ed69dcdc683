import * as z from 'zod';
import { privacyClassSchema } from '../field-schemas.ts';
import { preferencesSchema } from '../requests/preferences.ts';
import { pricingAnswerSchema } from './control.ts';

/** Answer of `POST /routing/preview`. */
export const routingPreviewAnswerSchema = z.strictObject({
  /** The model of the first route, or the requested model if there is no route. */
  model: z.string(),
  routing: z.enum(['auto', 'exact']),
  /** Why `/auto` chose the model and excluded others. Null if the request named the model. */
  choice: z.string().nullable(),
  /** In the order of the attempts. */
  plan: z.array(
    z.strictObject({
      model: z.string(),
      provider: z.string(),
      privacy_class: privacyClassSchema,
      pricing: pricingAnswerSchema,
      penalized: z.boolean(),
      /** Whether the Default sort gives this route an equal share of first attempts. The plan shows the best order. */
      shares_traffic: z.boolean(),
    }),
  ),
  /** Every other route of the requested models, with the rule that excluded it. */
  excluded: z.array(z.strictObject({ model: z.string(), provider: z.string(), rule: z.string(), message: z.string() })),
  /** Hold that is placed before the first attempt. Null if the request would be refused. */
  hold_usd: z.number().nullable(),
  /** Error that the request would get. Null if it would be sent. */
  refusal: z.strictObject({ type: z.string(), message: z.string() }).nullable(),
});
export type RoutingPreviewAnswer = z.infer<typeof routingPreviewAnswerSchema>;

/** Models and the providers that may serve them, best first. */
export const eligibleModelsAnswerSchema = z.strictObject({
  data: z.array(z.strictObject({ id: z.string(), providers: z.array(z.string()) })),
});
export type EligibleModelsAnswer = z.infer<typeof eligibleModelsAnswerSchema>;

/** The preferences of a workspace, and the models that they allow. */
export const effectiveRoutingAnswerSchema = eligibleModelsAnswerSchema.extend({ preferences: preferencesSchema });
