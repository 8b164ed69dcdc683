import * as z from 'zod';
import { type RelayAttack, relayAttacks } from '../e2ee/protocols.ts';
import { privacyClassSchema } from '../field-schemas.ts';

const usd = z.number();

/** A route's prices as the catalog file writes them: USD per million tokens, per image, per million characters. */
export const pricingAnswerSchema = z
  .strictObject({
    input: usd.optional(),
    output: usd.optional(),
    cached_input: usd.optional(),
    cache_write: usd.optional(),
    reasoning: usd.optional(),
    image: usd.optional(),
    input_characters: usd.optional(),
    tiers: z
      .array(
        z.strictObject({
          above_prompt_tokens: z.int(),
          input: usd.optional(),
          output: usd.optional(),
          cached_input: usd.optional(),
          cache_write: usd.optional(),
        }),
      )
      .optional(),
  })
  .describe('USD per million tokens, per image, per million input characters.');
export type PricingAnswer = z.infer<typeof pricingAnswerSchema>;

const capabilitiesOfRouteSchema = z.strictObject({
  tools: z.boolean(),
  vision: z.boolean(),
  structured_output: z.boolean(),
  reasoning: z.strictObject({ efforts: z.array(z.string()), can_disable: z.boolean() }).nullable(),
});

export const routeAnswerSchema = z.strictObject({
  provider: z.string(),
  privacy_class: privacyClassSchema,
  pricing: pricingAnswerSchema,
  capabilities: capabilitiesOfRouteSchema,
  context_length: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  /** Present if the catalog lists them. Parameters that it does not list are not sent to the provider. */
  supported_parameters: z.array(z.string()).optional(),
  /** Present if the broker reaches the provider without TLS, in a private network whose operator can read content. */
  insecure_http: z.literal(true).optional(),
  /** For an `e2ee` route: what a malicious broker can do to encrypted requests, as far as the operator's registry tells. */
  relay_attacks: z.array(z.enum(Object.keys(relayAttacks) as RelayAttack[])).optional(),
});
export type RouteAnswer = z.infer<typeof routeAnswerSchema>;

/** One entry of `GET /models`: a model and its routes. */
export const modelAnswerSchema = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  model_type: z.enum(['text', 'embedding', 'image', 'tts']),
  context_length: z.int().nullable(),
  max_output_tokens: z.int().nullable(),
  /** Present if `/auto` never chooses this model. A request must name it. */
  auto: z.literal(false).optional(),
  provider_routes: z.array(routeAnswerSchema),
  auto_provider: z.string().nullable().describe('The provider that Auto would choose now.'),
  privacy_class: privacyClassSchema.nullable(),
  capabilities: capabilitiesOfRouteSchema.nullable(),
  pricing: pricingAnswerSchema.nullable(),
});
export type ModelAnswer = z.infer<typeof modelAnswerSchema>;

export const modelListAnswerSchema = z.strictObject({
  object: z.literal('list'),
  data: z.array(modelAnswerSchema),
  /** Only in the public list: digest of its catalog, `sha256:` and hex, as in receipts. */
  catalog_digest: z.string().optional(),
});
export type ModelListAnswer = z.infer<typeof modelListAnswerSchema>;
