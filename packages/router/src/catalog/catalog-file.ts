import { type Price, usdPerMillionToPico, usdPerUnitToPico } from '@sotto/money';
import { privacyClassSchema, providerIdSchema } from '@sotto/wire';
import { z } from 'zod';

/** An exact price: no finer than a millionth of a dollar per million units. */
const perMillion = z.number().refine((usd) => usdPerMillionToPico(usd) !== undefined, {
  error: 'must be a price of at most six decimals, 0 or more',
});
const perUnit = z.number().refine((usd) => usdPerUnitToPico(usd) !== undefined, {
  error: 'must be a price of at most twelve decimals, 0 or more',
});

export const pricingFileSchema = z.strictObject({
  input: perMillion.optional(),
  output: perMillion.optional(),
  cached_input: perMillion.optional(),
  cache_write: perMillion.optional(),
  reasoning: perMillion.optional(),
  image: perUnit.optional(),
  input_characters: perMillion.optional(),
  tiers: z
    .array(
      z.strictObject({
        above_prompt_tokens: z.int().min(1),
        input: perMillion.optional(),
        output: perMillion.optional(),
      }),
    )
    .min(1)
    .optional(),
});

const tokens = z.int().min(1).max(100_000_000);

const routeSchema = z.strictObject({
  provider: providerIdSchema,
  upstream_model: z.string().min(1).max(256),
  privacy_class: privacyClassSchema,
  pricing: pricingFileSchema,
  capabilities: z
    .strictObject({
      tools: z.boolean().default(false),
      vision: z.boolean().default(false),
      structured_output: z.boolean().default(false),
      reasoning: z
        .strictObject({ efforts: z.array(z.string()).default([]), can_disable: z.boolean().default(false) })
        .optional(),
    })
    .prefault({}),
  context_length: tokens.optional(),
  max_output_tokens: tokens.optional(),
});

const modelSchema = z.strictObject({
  id: z
    .string()
    .regex(/^[\w.-]+\/[\w.-]+$/, { error: 'must be `creator/model`' })
    .max(200),
  name: z.string().min(1).max(200).optional(),
  model_type: z.enum(['text', 'embedding', 'image', 'tts']),
  context_length: tokens.optional(),
  max_output_tokens: tokens.optional(),
  routes: z.array(routeSchema).min(1).max(200),
});

/** CATALOG_FILE (design 6). */
export const catalogFileSchema = z.strictObject({ models: z.array(modelSchema).max(10_000) });
export type CatalogFile = z.infer<typeof catalogFileSchema>;
export type CatalogFileModel = CatalogFile['models'][number];
export type CatalogFileRoute = CatalogFileModel['routes'][number];

const requiredPrices = {
  text: ['input', 'output'],
  embedding: ['input'],
  image: ['image'],
  tts: ['input_characters'],
} as const;

/** The prices a route of this model type must have and lacks: nothing is ever priced 0 in silence. */
export function missingPrices(model: CatalogFileModel, route: CatalogFileRoute): string[] {
  return requiredPrices[model.model_type].filter((name) => route.pricing[name] === undefined);
}

/** A route's pricing in pico-USD. Only for pricing that `catalogFileSchema` accepted. */
export function toPrice(pricing: CatalogFileRoute['pricing']): Price {
  const pico = (usd: number | undefined): number | undefined =>
    usd === undefined ? undefined : usdPerMillionToPico(usd);
  const optional = <Name extends keyof Price>(name: Name, value: Price[Name] | undefined): Partial<Price> =>
    value === undefined ? {} : { [name]: value };
  const tiers = pricing.tiers
    ?.map((tier) => ({
      abovePromptTokens: tier.above_prompt_tokens,
      ...optional('input', pico(tier.input)),
      ...optional('output', pico(tier.output)),
    }))
    .sort((a, b) => a.abovePromptTokens - b.abovePromptTokens);
  return {
    input: pico(pricing.input) ?? 0,
    output: pico(pricing.output) ?? 0,
    ...optional('cachedInput', pico(pricing.cached_input)),
    ...optional('cacheWrite', pico(pricing.cache_write)),
    ...optional('reasoning', pico(pricing.reasoning)),
    ...optional('image', pricing.image === undefined ? undefined : usdPerUnitToPico(pricing.image)),
    ...optional('inputCharacter', pico(pricing.input_characters)),
    ...optional('tiers', tiers),
  };
}
