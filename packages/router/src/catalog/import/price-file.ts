import * as z from 'zod';

/** A file of other projects with the models and prices of many providers. */
export interface PriceFile {
  readonly kind: 'LiteLLM' | 'models.dev';
  /** The providers of the file, by its own names. */
  readonly providers: readonly string[];
  /** The models of one provider as a list that `importModels` reads, and those that are left out, with the reason. */
  modelsOf(provider: string): {
    readonly list: readonly object[];
    readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
  };
}

type LeftOut = ReturnType<PriceFile['modelsOf']>['leftOut'][number];

/**
 * Recognises LiteLLM's `model_prices_and_context_window.json` and models.dev's `api.json` by their shape. Returns undefined for
 * anything else. `today` is a date such as 2026-01-31: models that are retired by then are left out.
 */
export function readPriceFile(file: unknown, today: string): PriceFile | undefined {
  const ofModelsDev = z.record(z.string(), devProviderSchema).safeParse(file);
  if (ofModelsDev.success && Object.keys(ofModelsDev.data).length > 0) return modelsDev(ofModelsDev.data);
  const map = z.record(z.string(), z.unknown()).safeParse(file);
  const entries = Object.entries(map.data ?? {}).flatMap(([name, value]) => {
    const entry = litellmEntrySchema.safeParse(value);
    return entry.success && name !== 'sample_spec' ? [[name, entry.data] as const] : [];
  });
  return entries.length === 0 ? undefined : litellm(entries, today);
}

const amount = z.union([z.string(), z.number()]).nullish();
const flag = z.boolean().nullish().catch(undefined);

/** One model of LiteLLM's price map. Prices are USD per token. */
export const litellmEntrySchema = z.looseObject({
  litellm_provider: z.string(),
  mode: z.string().nullish(),
  max_input_tokens: z.unknown().optional(),
  max_output_tokens: z.unknown().optional(),
  supports_function_calling: flag,
  supports_vision: flag,
  supports_response_schema: flag,
  supports_reasoning: flag,
  deprecation_date: z.string().nullish().catch(undefined),
});
type LiteLlmEntry = z.infer<typeof litellmEntrySchema>;

const litellm = (entries: readonly (readonly [string, LiteLlmEntry])[], today: string): PriceFile => ({
  kind: 'LiteLLM',
  providers: [...new Set(entries.map(([, { litellm_provider: provider }]) => provider))].sort(),
  modelsOf(provider) {
    const leftOut: LeftOut[] = [];
    const list = entries.flatMap(([name, entry]) => {
      if (entry.litellm_provider !== provider) return [];
      const { deprecation_date: retired } = entry;
      if (retired != null && retired !== '' && retired <= today) {
        leftOut.push({ id: name, reason: `it is retired since ${retired}` });
        return [];
      }
      return [litellmModel(name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name, entry)];
    });
    return { list, leftOut };
  },
});

/**
 * One model of LiteLLM as an entry of a list in OpenRouter's shape. Its prices for priority, batches and regions are those of requests
 * that the broker does not send. A model that always searches the web charges for each request. A price that cannot be read stays unreadable, so that `importModels` leaves the model out.
 */
export function litellmModel(id: string, entry: Omit<LiteLlmEntry, 'litellm_provider'>): object {
  const { mode, max_input_tokens, max_output_tokens } = entry;
  const searches = entry.search_context_cost_per_query != null && /search|perplexity|sonar/.test(id);
  return {
    id,
    type: mode ?? 'chat',
    context_length: tokensOf(max_input_tokens),
    max_completion_tokens: tokensOf(max_output_tokens),
    ...('tiered_pricing' in entry && entry.tiered_pricing != null
      ? { pricing: 'tiered_pricing' }
      : { pricing: litellmPrices(searches ? { input_cost_per_request: 1, ...entry } : entry) }),
    capabilities: {
      tools: entry.supports_function_calling === true,
      vision: entry.supports_vision === true,
      structured_output: entry.supports_response_schema === true,
      reasoning: entry.supports_reasoning === true,
    },
  };
}

/** LiteLLM's names of prices per token, by those of OpenRouter. */
const litellmNames = {
  prompt: 'input_cost_per_token',
  completion: 'output_cost_per_token',
  input_cache_read: 'cache_read_input_token_cost',
  input_cache_write: 'cache_creation_input_token_cost',
} as const;
const aboveTokens = /_above_(\d+)k_tokens$/;

function litellmPrices(entry: Readonly<Record<string, unknown>>): object | undefined {
  const { prompt, completion } = litellmNames;
  if (entry[prompt] == null && entry[completion] == null) return undefined;
  const named = (suffix: string) =>
    Object.fromEntries(
      Object.entries(litellmNames).flatMap(([name, listed]) =>
        entry[listed + suffix] == null ? [] : [[name, entry[listed + suffix]]],
      ),
    );
  const thresholds = new Set(
    Object.entries(entry).flatMap(([name, value]) => {
      const found = aboveTokens.exec(name);
      const isOurs = found !== null && Object.values(litellmNames).some((own) => name === own + found[0]);
      return isOurs && value != null ? [found[1] ?? ''] : [];
    }),
  );
  return {
    ...named(''),
    internal_reasoning: differing(entry.output_cost_per_reasoning_token, entry[completion]),
    request: entry.input_cost_per_request ?? entry.input_cost_per_query,
    image: entry.input_cost_per_image,
    image_token: entry.input_cost_per_image_token,
    overrides: [...thresholds].map((thousands) => ({
      min_prompt_tokens: Number(thousands) * 1000,
      ...named(`_above_${thousands}k_tokens`),
    })),
  };
}

/** A price for reasoning only counts if it is not that of other output. */
const differing = (price: unknown, usual: unknown): unknown => (price === usual ? undefined : price);

/** LiteLLM has some counts as text. */
const tokensOf = (count: unknown): number | undefined =>
  count == null || count === '' || !Number.isInteger(Number(count)) ? undefined : Number(count);

const devCost = z.looseObject({
  input: amount,
  output: amount,
  reasoning: amount,
  cache_read: amount,
  cache_write: amount,
});
const devModelSchema = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  reasoning: flag,
  tool_call: flag,
  structured_output: flag,
  modalities: z
    .looseObject({ input: z.array(z.string()), output: z.array(z.string()) })
    .nullish()
    .catch(undefined),
  limit: z.looseObject({ context: z.unknown().optional(), output: z.unknown().optional() }).nullish().catch(undefined),
  cost: z.unknown().optional(),
  status: z.string().nullish().catch(undefined),
});
type DevModel = z.infer<typeof devModelSchema>;
const devProviderSchema = z.looseObject({ id: z.string(), models: z.record(z.string(), devModelSchema) });

const modelsDev = (providers: Readonly<Record<string, z.infer<typeof devProviderSchema>>>): PriceFile => ({
  kind: 'models.dev',
  providers: Object.keys(providers).sort(),
  modelsOf(provider) {
    const models = Object.values(providers[provider]?.models ?? {});
    return {
      list: models.filter(({ status }) => status !== 'deprecated').map(devModel),
      leftOut: models.flatMap(({ id, status }) =>
        status === 'deprecated' ? [{ id, reason: 'models.dev says that it is deprecated' }] : [],
      ),
    };
  },
});

/** One model of models.dev as an entry of a list in our own shape, whose prices are USD per million tokens. */
function devModel({ id, name, modalities, limit, cost, ...model }: DevModel): object {
  const isEmbedding = `${id} ${String(model.family ?? '')}`.toLowerCase().includes('embed');
  return {
    id,
    name: name ?? undefined,
    ...(isEmbedding
      ? { type: 'embedding' }
      : { output_modalities: modalities?.output, max_output_tokens: tokensOf(limit?.output) || undefined }),
    input_modalities: modalities?.input,
    context_length: tokensOf(limit?.context) || undefined,
    pricing: cost == null ? undefined : devPrices(cost),
    capabilities: {
      tools: model.tool_call === true,
      structured_output: model.structured_output === true,
      reasoning: model.reasoning === true,
    },
  };
}

const devTier = devCost.extend({ tier: z.looseObject({ type: z.literal('context'), size: z.int() }) });
const devPricesSchema = devCost.extend({ context_over_200k: devCost.nullish(), tiers: z.array(devTier).nullish() });

function devPrices(cost: unknown): unknown {
  const read = devPricesSchema.safeParse(cost);
  // Not absent: `importModels` refuses a price that it cannot read.
  if (!read.success) return 'unreadable';
  const { tiers, context_over_200k: over, reasoning, output } = read.data;
  const above = tiers ?? (over == null ? [] : [{ ...over, tier: { size: 200_000 } }]);
  return {
    ...devNames(read.data),
    reasoning: differing(reasoning, output),
    tiers: above.map((prices) => ({ above_prompt_tokens: prices.tier.size, ...devNames(prices) })),
  };
}

const devNames = ({ input, output, cache_read, cache_write }: z.infer<typeof devCost>) => ({
  input,
  output,
  cached_input: cache_read,
  cache_write,
});
