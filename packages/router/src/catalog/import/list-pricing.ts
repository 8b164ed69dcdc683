import { shiftDecimal } from '@sotto/money';
import { z } from 'zod';
import { type CatalogFileRoute, defined } from '../catalog-file.ts';
import type { ListEntry } from './list-entry.ts';

type Pricing = CatalogFileRoute['pricing'];

const usd = z.union([z.string(), z.number()]).nullish();
type Listed = z.infer<typeof usd>;

const tokenPrices = { prompt: usd, completion: usd, input_cache_read: usd, input_cache_write: usd };

/** Prices in a list: text per token (OpenRouter), or numbers per million tokens (Together and our own list). */
const pricingSchema = z.looseObject({
  ...tokenPrices,
  internal_reasoning: usd,
  request: usd,
  image: usd,
  image_token: usd,
  overrides: z
    .array(
      z.looseObject({
        ...tokenPrices,
        min_prompt_tokens: z.int().min(1).nullish(),
        utc_start: z.unknown().optional(),
        utc_end: z.unknown().optional(),
        utc_days: z.unknown().optional(),
      }),
    )
    .nullish(),
  input: usd,
  output: usd,
  cached_input: usd,
  cache_write: usd,
});
type ListedPricing = z.infer<typeof pricingSchema>;

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const refused = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

/** Reason for not importing a price of 0: an operator must write a free price on purpose. */
export const isFree = 'it is free: a price of 0 is for you to write';

/** No vendor charges more than this, so a higher price means that the list uses another unit. */
const unbelievableUsdPerMillion = 10_000;

/**
 * The prices of a list's entry in USD per million tokens, with exactly the digits of the list. Returns the reason if
 * they cannot be imported. A price must never silently become 0 or too low.
 */
export function pricingOf(entry: ListEntry): Outcome<Pricing | undefined> {
  if (entry.pricing == null) return { ok: true, value: undefined };
  const parsed = pricingSchema.safeParse(entry.pricing);
  if (!parsed.success) return refused('its pricing is of a shape that cannot be read');
  const pricing = parsed.data;
  if (isAbove(pricing.request, 0)) return refused('it charges for each request, which a catalog cannot say');
  try {
    const read = pricing.prompt != null ? perToken(pricing) : perMillion(pricing);
    if (read === undefined) return { ok: true, value: undefined };
    const free = read.input === 0 || read.tiers?.some(({ input, output }) => input === 0 || output === 0);
    if (free) return refused(isFree);
    return { ok: true, value: read };
  } catch (error) {
    if (error instanceof PriceError) return refused(error.message);
    throw error;
  }
}

/**
 * Whether images cost more than the tokens they count as. Then the broker would charge too little for requests with
 * images.
 */
export function chargesForImages(entry: ListEntry): boolean {
  const { data: pricing } = pricingSchema.safeParse(entry.pricing);
  if (pricing === undefined) return false;
  return isAbove(pricing.image, 0) || isAbove(pricing.image_token, Number(pricing.prompt));
}

class PriceError extends Error {}

function perToken(pricing: ListedPricing): Pricing {
  const price = (listed: Listed): number | undefined => exact(listed, 6);
  const reasoning = isAbove(pricing.internal_reasoning, 0) ? price(pricing.internal_reasoning) : undefined;
  const tiers = [];
  for (const override of pricing.overrides ?? []) {
    const timed = [override.utc_start, override.utc_end, override.utc_days].some((each) => each != null);
    if (timed) {
      const dearer = (['prompt', 'completion', 'input_cache_read', 'input_cache_write'] as const).some((name) =>
        isAbove(override[name], Number(pricing[name] ?? pricing.prompt)),
      );
      if (dearer) throw new PriceError('it costs more at some times of the day, which a catalog cannot say');
    } else if (override.min_prompt_tokens != null) {
      tiers.push({
        above_prompt_tokens: override.min_prompt_tokens,
        ...defined('input', price(override.prompt)),
        ...defined('output', price(override.completion)),
        ...defined('cached_input', price(override.input_cache_read)),
        ...defined('cache_write', price(override.input_cache_write)),
      });
    }
  }
  tiers.sort((a, b) => a.above_prompt_tokens - b.above_prompt_tokens);
  return {
    ...defined('input', price(pricing.prompt)),
    ...defined('output', price(pricing.completion)),
    ...defined('cached_input', cachePrice(pricing.input_cache_read, price)),
    ...defined('cache_write', cachePrice(pricing.input_cache_write, price)),
    ...defined('reasoning', reasoning),
    ...(tiers.length > 0 ? { tiers } : {}),
  };
}

function perMillion(pricing: ListedPricing): Pricing | undefined {
  if (pricing.input == null) return undefined;
  const price = (listed: Listed): number | undefined => exact(listed, 0);
  return {
    ...defined('input', price(pricing.input)),
    ...defined('output', price(pricing.output)),
    ...defined('cached_input', cachePrice(pricing.cached_input, price)),
    ...defined('cache_write', cachePrice(pricing.cache_write, price)),
  };
}

/** Lists write 0 if a provider does not have a cache price. An absent cache price costs as much as input. */
const cachePrice = (listed: Listed, price: (listed: Listed) => number | undefined): number | undefined =>
  isAbove(listed, 0) ? price(listed) : undefined;

/** Moves the decimal point of a listed price. Returns a number that stands for exactly those digits. */
function exact(listed: Listed, places: number): number | undefined {
  if (listed == null) return undefined;
  if (Number(listed) < 0) throw new PriceError('it has no fixed price');
  const decimal = shiftDecimal(String(listed), places);
  if (decimal === undefined) throw new PriceError(`its price ${JSON.stringify(listed).slice(0, 40)} is no number`);
  const value = Number(decimal);
  if (value > unbelievableUsdPerMillion) {
    throw new PriceError(`its price comes to ${decimal} USD per million tokens: the list must mean another unit`);
  }
  if ((decimal.split('.')[1] ?? '').length > 6) {
    throw new PriceError(`its price of ${decimal} USD per million tokens is finer than a millionth of a dollar`);
  }
  return value;
}

const isAbove = (listed: Listed, bound: number): boolean => listed != null && Number(listed) > bound;
