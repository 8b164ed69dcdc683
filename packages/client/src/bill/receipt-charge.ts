import { canonicalJson, type Receipt, receiptSchema } from '@sotto/attestation';
import { cost, type Nusd, type Price, type Usage } from '@sotto/money';
import type { ListedPrice, PriceList } from './price-list.ts';

/** A charge that a receipt states, with the usage and prices it follows from. */
export interface ReceiptCharge {
  readonly model: string;
  readonly provider: string;
  /** Whether the content was encrypted to an enclave. Then the price may be of another route: the dearest that it could be for. */
  readonly isSealed: boolean;
  readonly chargeNusd: Nusd;
  readonly estimated: boolean;
  /** Digest of the catalog that the prices are from: `sha256:` and hex. */
  readonly catalogDigest: string;
  readonly price: Price;
  /** The cost of the stated usage at the stated price. */
  readonly costNusd: Nusd;
}

/** The receipt of a request without a bill: it was not served, or it is not settled yet. */
export interface UnbilledReceipt {
  readonly unbilled: 'not_served' | 'not_settled';
}

/** Whether a document claims to be a receipt of the broker. The claim is not verified here. */
export const isReceipt = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'version' in value && value.version === 'sotto.receipt.v1';

/**
 * Recomputes the charge of a receipt with the service's own arithmetic. Returns a sentence about the problem if the value is not a
 * receipt. `verifyReceipt` checks the broker's signature.
 */
export function readReceiptCharge(value: unknown): ReceiptCharge | UnbilledReceipt | string {
  const parsed = receiptSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return `as a receipt, \`${issue?.path.map(String).join('.') ?? ''}\` is wrong (${issue?.message ?? ''})`;
  }
  const { bill, attempts, status } = parsed.data;
  const served = attempts.at(-1);
  if (bill === null) {
    return { unbilled: status === 200 && served !== undefined ? 'not_settled' : 'not_served' };
  }
  if (served === undefined) return 'as a receipt, it has a bill, but says that no provider got the request';
  const price = priceOf(bill.price);
  return {
    model: served.model,
    provider: served.provider,
    isSealed: served.privacy_class === 'e2ee',
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
 * The result for a receipt:
 *
 * - `exact`: the charge is the cost of its usage at its price, to the nano-dollar.
 * - `below`: the charge is less. The operator bears any cost above the hold.
 * - `above`: the charge is more.
 * - `other_price`: in the catalog that the receipt names, no route of this model at this provider has this price.
 * - `other_catalog`: the charge is not above its cost, but the list is of another catalog.
 */
export type ReceiptFinding = 'exact' | 'below' | 'above' | 'other_price' | 'other_catalog';

/** Judges a receipt's charge against its own price, and against the price list of its catalog if one is given. */
export function judgeReceipt(charge: ReceiptCharge, list: PriceList | undefined): ReceiptFinding {
  if (charge.chargeNusd > charge.costNusd) return 'above';
  if (list !== undefined) {
    if (list.catalogDigest !== charge.catalogDigest) return 'other_catalog';
    const own = comparable(charge.price);
    const isOwn = ({ model, provider, price }: ListedPrice): boolean =>
      (charge.isSealed || (model === charge.model && provider === charge.provider)) && comparable(price) === own;
    if (!list.prices.some(isOwn)) return 'other_price';
  }
  return charge.chargeNusd < charge.costNusd ? 'below' : 'exact';
}

const comparable = (price: Price): string => canonicalJson({ tiers: [], ...price });
