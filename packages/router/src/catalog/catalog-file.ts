import { type Price, usdPerMillionToPico, usdPerUnitToPico } from '@sotto/money';
import { privacyClassSchema, providerIdSchema } from '@sotto/wire';
import * as z from 'zod';
import { chatParameters, rangedParameters } from '../parameters/parameter-names.ts';
import { modelTypes } from './catalog.ts';

/** An exact price: no finer than a millionth of a dollar per million units. */
const perMillion = z.number().refine((usd) => usdPerMillionToPico(usd) !== undefined, {
  error: 'must be a price of at most six decimals, 0 or more',
});
const perUnit = z.number().refine((usd) => usdPerUnitToPico(usd) !== undefined, {
  error: 'must be a price of at most twelve decimals, 0 or more',
});

const pricingFileSchema = z.strictObject({
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
        cached_input: perMillion.optional(),
        cache_write: perMillion.optional(),
      }),
    )
    .min(1)
    .optional(),
});

const tokens = z.int().min(1).max(100_000_000);

const range = z
  .strictObject({ min: z.number().min(-2).max(2).optional(), max: z.number().min(-2).max(2).optional() })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, {
    error: '`min` must not be above `max`',
  });

const needs: ReadonlySet<string> = new Set(['tools', 'structured_outputs']);
const exclusiveList = z
  .array(z.enum(chatParameters))
  .min(2)
  .refine((list) => !list.slice(1).some((name) => needs.has(name)), {
    error: '`tools` and `structured_outputs` are never dropped: they can only stand first',
  });

/** The field that adds a built-in file. `extendCatalog` and `extendRegistry` remove it, unless they have no built-in file. */
export const extendsSchema = z
  .literal('built_in')
  .optional()
  .refine((value) => value === undefined, { error: '`built_in` cannot be extended here: write the entries out' });

/** Fields that a model and each of its routes share. A value on the route replaces the model's. */
const facts = {
  /** The date on which the provider's published facts were last checked. */
  as_of: z.iso.date({ error: 'must be a date such as 2026-01-31' }).optional(),
  supported_parameters: z
    .array(z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, { error: 'must be the name of a parameter' }))
    .max(100)
    .optional(),
  parameter_ranges: z.partialRecord(z.enum(rangedParameters), range).optional(),
  exclusive_parameters: z.array(exclusiveList).max(20).optional(),
};

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
  ...facts,
});

/** A canonical model id: `creator/model`. */
export const modelIdPattern = /^[\w.-]+\/[\w.-]+$/;

const modelSchema = z.strictObject({
  id: z.string().regex(modelIdPattern, { error: 'must be `creator/model`' }).max(200),
  name: z.string().min(1).max(200).optional(),
  model_type: z.enum(modelTypes),
  context_length: tokens.optional(),
  max_output_tokens: tokens.optional(),
  /** `false`: `/auto` never chooses this model. A request must name it. */
  auto: z.boolean().optional(),
  ...facts,
  routes: z.array(routeSchema).min(1).max(200),
});

/** The schema of CATALOG_FILE (docs/operate/providers-and-catalog.md). */
export const catalogFileSchema = z.strictObject({
  /** Adds the models of the built-in catalog, which `extendCatalog` replaces this field with. */
  extends: extendsSchema,
  as_of: facts.as_of,
  models: z.array(modelSchema).max(10_000),
});
export type CatalogFile = z.infer<typeof catalogFileSchema>;
export type CatalogFileModel = CatalogFile['models'][number];
export type CatalogFileRoute = CatalogFileModel['routes'][number];

const requiredPrices = {
  text: ['input', 'output'],
  embedding: ['input'],
  image: ['image'],
  tts: ['input_characters'],
} as const;

/** The prices that this model type requires and the route lacks. A missing price must never silently count as 0. */
export function missingPrices(model: CatalogFileModel, route: CatalogFileRoute): string[] {
  return requiredPrices[model.model_type].filter((name) => route.pricing[name] === undefined);
}

/** A route's pricing in pico-USD. Accepts only pricing that `catalogFileSchema` accepted. */
export function toPrice(pricing: CatalogFileRoute['pricing']): Price {
  const pico = (usd: number | undefined): number | undefined =>
    usd === undefined ? undefined : usdPerMillionToPico(usd);
  const tiers = pricing.tiers
    ?.map((tier) => ({
      abovePromptTokens: tier.above_prompt_tokens,
      ...defined('input', pico(tier.input)),
      ...defined('output', pico(tier.output)),
      ...defined('cachedInput', pico(tier.cached_input)),
      ...defined('cacheWrite', pico(tier.cache_write)),
    }))
    .sort((a, b) => a.abovePromptTokens - b.abovePromptTokens);
  return {
    input: pico(pricing.input) ?? 0,
    output: pico(pricing.output) ?? 0,
    ...defined('cachedInput', pico(pricing.cached_input)),
    ...defined('cacheWrite', pico(pricing.cache_write)),
    ...defined('reasoning', pico(pricing.reasoning)),
    ...defined('image', pricing.image === undefined ? undefined : usdPerUnitToPico(pricing.image)),
    ...defined('inputCharacter', pico(pricing.input_characters)),
    ...defined('tiers', tiers),
  };
}

/** An object with this field. Empty without a value. */
export const defined = <Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): Partial<Record<Name, Value>> => {
  const field: Partial<Record<Name, Value>> = {};
  if (value !== undefined) field[name] = value;
  return field;
};
