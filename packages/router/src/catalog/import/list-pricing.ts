import { shiftDecimal } from '@sotto/money';
import * as z from 'zod';
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

/** Prices that only our own list states. */
const ownPricesSchema = z.looseObject({
  reasoning: usd,
  tiers: z
    .array(
      z.looseObject({
        above_prompt_tokens: z.int().min(1),
        input: usd,
        output: usd,
        cached_input: usd,
        cache_write: usd,
      }),
    )
    .nullish(),
});

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

const refused = (reason: string): { readonly ok: false; readonly reason: string } => ({ ok: false, reason });

const isUnreadable = 'its pricing is of a shape that cannot be read';

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
  if (!parsed.success) return refused(isUnreadable);
  const pricing = parsed.data;
  const fee = feeOf(pricing);
  if (fee !== undefined) return refused(fee);
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

/** Returns what a model costs beyond prices per token, which a catalog cannot say and no price of an operator replaces. */
export function feeIn(entry: ListEntry): string | undefined {
  const { data: pricing } = pricingSchema.safeParse(entry.pricing);
  return pricing && feeOf(pricing);
}

function feeOf(pricing: ListedPricing): string | undefined {
  if (isAbove(pricing.request, 0)) return 'it charges for each request, which a catalog cannot say';
  for (const override of pricing.overrides ?? []) {
    const timed = isTimed(override);
    if (!timed && override.min_prompt_tokens != null) continue;
    const dearer = (['prompt', 'completion', 'input_cache_read', 'input_cache_write'] as const).some((name) =>
      isAbove(override[name], Number(pricing[name] ?? pricing.prompt)),
    );
    const when = timed ? 'at some times of the day' : 'on some condition';
    if (dearer) return `it costs more ${when}, which a catalog cannot say`;
  }
  return undefined;
}

type Override = NonNullable<ListedPricing['overrides']>[number];

const isTimed = ({ utc_start, utc_end, utc_days }: Override): boolean =>
  [utc_start, utc_end, utc_days].some((each) => each != null);

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
  const reasoning = nonzero(pricing.internal_reasoning, 6);
  const tiers = [];
  for (const override of pricing.overrides ?? []) {
    if (isTimed(override) || override.min_prompt_tokens == null) continue;
    tiers.push({ above_prompt_tokens: override.min_prompt_tokens, ...tokenPricesOf(ownNames(override), 6) });
  }
  return {
    ...tokenPricesOf(ownNames(pricing), 6),
    ...defined('reasoning', reasoning),
    ...defined('tiers', ascending(tiers)),
  };
}

function perMillion(pricing: ListedPricing): Pricing | undefined {
  if (pricing.input == null) return undefined;
  const own = ownPricesSchema.safeParse(pricing);
  if (!own.success) throw new PriceError(isUnreadable);
  const { reasoning, tiers } = own.data;
  const read = tiers?.map((tier) => ({ above_prompt_tokens: tier.above_prompt_tokens, ...tokenPricesOf(tier, 0) }));
  return {
    ...tokenPricesOf(pricing, 0),
    ...defined('reasoning', nonzero(reasoning, 0)),
    ...defined('tiers', ascending(read ?? [])),
  };
}

type TokenPrices = Readonly<Partial<Record<'input' | 'output' | 'cached_input' | 'cache_write', Listed>>>;

/** The prices of OpenRouter by the names that our own list has. */
const ownNames = (listed: Readonly<Partial<Record<keyof typeof tokenPrices, Listed>>>): TokenPrices => ({
  input: listed.prompt,
  output: listed.completion,
  cached_input: listed.input_cache_read,
  cache_write: listed.input_cache_write,
});

/**
 * The prices of tokens at one prompt size, moved to USD per million. Lists write 0 if a provider does not have a cache
 * price. An absent cache price costs as much as input.
 */
const tokenPricesOf = ({ input, output, cached_input, cache_write }: TokenPrices, places: number) => ({
  ...defined('input', exact(input, places)),
  ...defined('output', exact(output, places)),
  ...defined('cached_input', nonzero(cached_input, places)),
  ...defined('cache_write', nonzero(cache_write, places)),
});

/** Tiers in ascending order. Undefined without any. */
const ascending = <Tier extends { readonly above_prompt_tokens: number }>(tiers: Tier[]): Tier[] | undefined =>
  tiers.length === 0 ? undefined : tiers.sort((a, b) => a.above_prompt_tokens - b.above_prompt_tokens);

const nonzero = (listed: Listed, places: number): number | undefined =>
  isAbove(listed, 0) ? exact(listed, places) : undefined;

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

/** Whether a listed price is above a bound. An unreadable price counts as above: it must not count as absent. */
const isAbove = (listed: Listed, bound: number): boolean =>
  listed != null && (Number.isNaN(Number(listed)) || Number(listed) > bound);
