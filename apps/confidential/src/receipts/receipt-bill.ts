import type { ReceiptBill } from '@sotto/attestation';
import type { Price, PriceTier } from '@sotto/money';
import type { RequestBill } from '../settlement/request-settlement.ts';

/** Returns a settled charge in the form of receipts. */
export function billOf(billed: RequestBill | undefined): ReceiptBill | null {
  if (billed === undefined) return null;
  const { usage, price, chargeNusd, estimated, catalogDigest } = billed;
  return {
    catalog_digest: `sha256:${catalogDigest}`,
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      completion_tokens: usage.completionTokens,
      reasoning_tokens: usage.reasoningTokens,
      images: usage.images ?? 0,
      input_characters: usage.inputCharacters ?? 0,
    },
    estimated,
    price: priceOf(price),
    charge_nusd: chargeNusd.toString(),
  };
}

function priceOf({
  input,
  output,
  reasoning,
  image,
  inputCharacter,
  tiers = [],
  ...caches
}: Price): ReceiptBill['price'] {
  return {
    input,
    output,
    ...cachePrices(caches),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(image === undefined ? {} : { image }),
    ...(inputCharacter === undefined ? {} : { input_character: inputCharacter }),
    tiers: tiers.map((tier) => ({
      above_prompt_tokens: tier.abovePromptTokens,
      ...(tier.input === undefined ? {} : { input: tier.input }),
      ...(tier.output === undefined ? {} : { output: tier.output }),
      ...cachePrices(tier),
    })),
  };
}

const cachePrices = ({ cachedInput, cacheWrite }: Pick<PriceTier, 'cachedInput' | 'cacheWrite'>) => ({
  ...(cachedInput === undefined ? {} : { cached_input: cachedInput }),
  ...(cacheWrite === undefined ? {} : { cache_write: cacheWrite }),
});
