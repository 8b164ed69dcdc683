import { type Price, usdPerMillionToPico, usdPerUnitToPico } from '@sotto/money';
import * as z from 'zod';

const usd = z.number().optional();
const pricingSchema = z.object({
  input: usd,
  output: usd,
  cached_input: usd,
  cache_write: usd,
  reasoning: usd,
  image: usd,
  input_characters: usd,
  tiers: z
    .array(z.object({ above_prompt_tokens: z.int(), input: usd, output: usd, cached_input: usd, cache_write: usd }))
    .optional(),
});
/** Limits of a model or a route. Null or missing if the catalog does not state them. */
const tokenLimits = { context_length: z.int().min(0).nullish(), max_output_tokens: z.int().min(0).nullish() };
const listSchema = z.object({
  catalog_digest: z.string().optional(),
  data: z.array(
    z.object({
      id: z.string(),
      ...tokenLimits,
      provider_routes: z.array(z.object({ provider: z.string(), pricing: pricingSchema, ...tokenLimits })),
    }),
  ),
});

/** The price of one route. */
export interface ListedPrice {
  readonly model: string;
  readonly provider: string;
  readonly price: Price;
  /** In tokens. Undefined if the catalog does not state it. */
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
}

/** Prices of one catalog. */
export interface PriceList {
  readonly prices: readonly ListedPrice[];
  /** The digest that receipts name: `sha256:` and hex. Undefined if the list does not have one. */
  readonly catalogDigest: string | undefined;
}

/**
 * Reads the prices of `GET /catalog/models`. Returns undefined if the value is not such an answer, or a price is not an
 * exact amount, which `inexactPriceIn` names.
 */
export function readPrices(answer: unknown): PriceList | undefined {
  const parsed = listSchema.safeParse(answer);
  if (!parsed.success) return undefined;
  const listed = parsed.data.data.flatMap((model) =>
    model.provider_routes.map((route) => ({
      model: model.id,
      provider: route.provider,
      price: priceOf(route.pricing),
      contextLength: route.context_length ?? model.context_length ?? undefined,
      maxOutputTokens: route.max_output_tokens ?? model.max_output_tokens ?? undefined,
    })),
  );
  if (!listed.every((each): each is ListedPrice => each.price !== undefined)) return undefined;
  return { prices: listed, catalogDigest: parsed.data.catalog_digest };
}

/** A clause about a price that is finer than prices can be. Undefined if there is none. */
export function inexactPriceIn(answer: unknown): string | undefined {
  for (const { id, provider_routes } of listSchema.safeParse(answer).data?.data ?? []) {
    const route = provider_routes.find(({ pricing }) => priceOf(pricing) === undefined);
    if (route !== undefined)
      return `a price of ${id} by ${route.provider} is not a whole number of millionths of a dollar per million tokens`;
  }
  return undefined;
}

type Pricing = z.infer<typeof pricingSchema>;

function priceOf({ input, output, image, tiers = [], ...pricing }: Pricing): Price | undefined {
  const perToken = {
    cachedInput: pricing.cached_input,
    cacheWrite: pricing.cache_write,
    reasoning: pricing.reasoning,
    inputCharacter: pricing.input_characters,
  };
  const exactTiers = tiers.map(({ above_prompt_tokens, cached_input, cache_write, ...tier }) => {
    const exact = perMillion({
      input: tier.input,
      output: tier.output,
      cachedInput: cached_input,
      cacheWrite: cache_write,
    });
    return exact && { abovePromptTokens: above_prompt_tokens, ...exact };
  });
  const base = perMillion({ input: input ?? 0, output: output ?? 0 });
  const more = perMillion(perToken);
  const perImage = image === undefined ? undefined : usdPerUnitToPico(image);
  if (base === undefined || more === undefined || (image !== undefined && perImage === undefined)) return undefined;
  if (!exactTiers.every((tier) => tier !== undefined)) return undefined;
  const { input: inputPico = 0, output: outputPico = 0 } = base;
  return {
    input: inputPico,
    output: outputPico,
    ...more,
    ...(perImage === undefined ? {} : { image: perImage }),
    ...(exactTiers.length === 0 ? {} : { tiers: exactTiers }),
  };
}

/** Returns the present prices in pico-USD, or undefined if one is not an exact amount. */
function perMillion<Name extends string>(
  prices: Readonly<Record<Name, number | undefined>>,
): Partial<Record<Name, number>> | undefined {
  const exact: Partial<Record<Name, number>> = {};
  for (const name of Object.keys(prices) as Name[]) {
    const price = prices[name];
    if (price === undefined) continue;
    const pico = usdPerMillionToPico(price);
    if (pico === undefined) return undefined;
    exact[name] = pico;
  }
  return exact;
}
