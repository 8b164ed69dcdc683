import { canonicalJson, type Receipt, receiptSchema } from '@sotto/attestation';
import { cost, type Nusd, type Price, type Usage } from '@sotto/money';
import type { PriceList } from './price-list.ts';

/** A charge that a receipt states, with all that it follows from. */
export interface ReceiptCharge {
  readonly model: string;
  readonly provider: string;
  readonly chargeNusd: Nusd;
  readonly estimated: boolean;
  /** `sha256:` and hex: which catalog's prices these are. */
  readonly catalogDigest: string;
  readonly price: Price;
  /** What the stated usage costs at the stated price. */
  readonly costNusd: Nusd;
}

/** Whether a document says that it is a receipt of the broker. */
export const isReceipt = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'version' in value && value.version === 'sotto.receipt.v1';

/**
 * Recomputes what a receipt charges, with the service's own arithmetic. `free`: nothing was served, and nothing is charged.
 * Returns a sentence where it is no receipt. Whether the broker signed it is for `verifyReceipt`.
 */
export function readReceiptCharge(value: unknown): ReceiptCharge | { readonly free: true } | string {
  const parsed = receiptSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `as a receipt, \`${issue?.path.map(String).join('.') ?? ''}\` is wrong (${issue?.message ?? ''})`;
  }
  const { bill, attempts } = parsed.data;
  const served = attempts.at(-1);
  if (bill === null || served === undefined) return { free: true };
  const price = priceOf(bill.price);
  return {
    model: served.model,
    provider: served.provider,
    chargeNusd: BigInt(bill.charge_nusd),
    estimated: bill.estimated,
    catalogDigest: bill.catalog_digest,
    price,
    costNusd: cost(usageOf(bill.usage), price),
  };
}

type Bill = NonNullable<Receipt['bill']>;

const usageOf = (usage: Bill['usage']): Usage => ({
  promptTokens: usage.prompt_tokens,
  cachedTokens: usage.cached_tokens,
  cacheWriteTokens: usage.cache_write_tokens,
  completionTokens: usage.completion_tokens,
  reasoningTokens: usage.reasoning_tokens,
  images: usage.images,
  inputCharacters: usage.input_characters,
});

const priceOf = ({ tiers, reasoning, image, input_character: inputCharacter, ...base }: Bill['price']): Price => ({
  ...tokenPrices(base),
  input: base.input,
  output: base.output,
  ...(reasoning === undefined ? {} : { reasoning }),
  ...(image === undefined ? {} : { image }),
  ...(inputCharacter === undefined ? {} : { inputCharacter }),
  ...(tiers.length === 0
    ? {}
    : { tiers: tiers.map((tier) => ({ abovePromptTokens: tier.above_prompt_tokens, ...tokenPrices(tier) })) }),
});

const tokenPrices = (
  prices: Pick<Bill['price']['tiers'][number], 'input' | 'output' | 'cached_input' | 'cache_write'>,
) => ({
  ...(prices.input === undefined ? {} : { input: prices.input }),
  ...(prices.output === undefined ? {} : { output: prices.output }),
  ...(prices.cached_input === undefined ? {} : { cachedInput: prices.cached_input }),
  ...(prices.cache_write === undefined ? {} : { cacheWrite: prices.cache_write }),
});

/**
 * `exact`: the charge is the cost of its usage at its price, to the nano-dollar. `below`: it is less, as what its hold did not
 * cover is the operator's. `above`: it is more. `other_price`: no route of the model has this price in the catalog that the
 * receipt names. `other_catalog`: it adds up, and the list is of another catalog.
 */
export type ReceiptFinding = 'exact' | 'below' | 'above' | 'other_price' | 'other_catalog';

/** Judges a receipt's charge by itself, and by the list of prices of its catalog where there is one. */
export function judgeReceipt(charge: ReceiptCharge, list: PriceList | undefined): ReceiptFinding {
  if (charge.chargeNusd > charge.costNusd) return 'above';
  if (list !== undefined) {
    if (list.catalogDigest !== charge.catalogDigest) return 'other_catalog';
    const own = comparable(charge.price);
    if (!list.prices.some(({ price }) => comparable(price) === own)) return 'other_price';
  }
  return charge.chargeNusd < charge.costNusd ? 'below' : 'exact';
}

const comparable = (price: Price): string => canonicalJson({ tiers: [], ...price });
