import type { Receipt } from '@sotto/attestation';
import { describe, expect, it } from 'vitest';
import { readPrices } from './price-list.ts';
import { isReceipt, judgeReceipt, type ReceiptCharge, readReceiptCharge } from './receipt-charge.ts';

const catalogDigest = `sha256:${'c'.repeat(64)}`;
const hash = 'a'.repeat(64);
const receipt = (bill: object | null = {}): Receipt => ({
  version: 'sotto.receipt.v1',
  key_id: 'receipt-1',
  issued_at: 1_795_000_020,
  operation: 'chat',
  status: 200,
  received_sha256: hash,
  attempts: [
    {
      provider: 'acme',
      model: 'acme/small',
      upstream_model: 'small',
      privacy_class: 'private',
      session_id: null,
      forwarded_sha256: hash,
      answered_sha256: hash,
    },
  ],
  returned_sha256: hash,
  complete: true,
  bill: bill && {
    catalog_digest: catalogDigest,
    usage: {
      prompt_tokens: 100,
      cached_tokens: 40,
      cache_write_tokens: 10,
      completion_tokens: 20,
      reasoning_tokens: 5,
      images: 0,
      input_characters: 0,
    },
    estimated: false,
    price: {
      input: 500_000,
      output: 1_500_000,
      cached_input: 50_000,
      cache_write: 625_000,
      reasoning: 2_000_000,
      tiers: [{ above_prompt_tokens: 1000, input: 1_000_000 }],
    },
    // 50 × 0.5 + 40 × 0.05 + 10 × 0.625 + 15 × 1.5 + 5 × 2 = 65.75 USD per million.
    charge_nusd: '65750',
    ...bill,
  },
  provider_registry_digest: `sha256:${hash}`,
  signature: 'b'.repeat(128),
});
const list = (pricing: object = {}, digest = catalogDigest) =>
  readPrices({
    object: 'list',
    catalog_digest: digest,
    data: [
      {
        id: 'acme/small',
        provider_routes: [
          {
            provider: 'acme',
            pricing: {
              input: 0.5,
              output: 1.5,
              cached_input: 0.05,
              cache_write: 0.625,
              reasoning: 2,
              tiers: [{ above_prompt_tokens: 1000, input: 1 }],
              ...pricing,
            },
          },
        ],
      },
    ],
  });
const chargeOf = (bill?: object): ReceiptCharge => {
  const read = readReceiptCharge(receipt(bill));
  return typeof read === 'object' && 'model' in read ? read : expect.unreachable(String(read));
};

describe('the charge of a receipt', () => {
  it('adds up by its own price, including cache writes, and by the list of its catalog', () => {
    expect(chargeOf()).toMatchObject({ model: 'acme/small', provider: 'acme', chargeNusd: 65_750n, costNusd: 65_750n });
    expect(judgeReceipt(chargeOf(), undefined)).toBe('exact');
    expect(judgeReceipt(chargeOf(), list())).toBe('exact');
  });

  it('may be less than its cost, but not one nano-dollar more', () => {
    expect(judgeReceipt(chargeOf({ charge_nusd: '65751' }), list())).toBe('above');
    expect(judgeReceipt(chargeOf({ charge_nusd: '65749' }), list())).toBe('below');
  });

  it('must use a price of its catalog, and is not compared with another catalog', () => {
    expect(judgeReceipt(chargeOf(), list({ output: 1.4 }))).toBe('other_price');
    expect(judgeReceipt(chargeOf(), list({ output: 1.4 }, `sha256:${'d'.repeat(64)}`))).toBe('other_catalog');
  });

  it('must use a price of its own model and provider, unless the content was encrypted', () => {
    for (const other of [{ model: 'acme/other' }, { provider: 'other' }]) {
      const { prices, catalogDigest: digest } = list() ?? expect.unreachable('no list');
      const others = { prices: prices.map((each) => ({ ...each, ...other })), catalogDigest: digest };
      expect(judgeReceipt(chargeOf(), others)).toBe('other_price');
      expect(judgeReceipt({ ...chargeOf(), isSealed: true }, others)).toBe('exact');
    }
  });

  it('is absent if nothing was served, or if the charge is not settled', () => {
    expect(readReceiptCharge({ ...receipt(null), status: 503 })).toEqual({ unbilled: 'not_served' });
    expect(readReceiptCharge({ ...receipt(null), attempts: [] })).toEqual({ unbilled: 'not_served' });
    expect(readReceiptCharge(receipt(null))).toEqual({ unbilled: 'not_settled' });
  });

  it('needs a provider that got the request', () => {
    expect(readReceiptCharge({ ...receipt({ charge_nusd: '9000000000' }), attempts: [] })).toContain('no provider');
  });

  it('is recognised among other bills, and an invalid receipt gets a reason', () => {
    expect(isReceipt(receipt())).toBe(true);
    for (const other of [undefined, 'x', {}, { data: [] }]) expect(isReceipt(other)).toBe(false);
    expect(readReceiptCharge({ ...receipt(), bill: { charge_nusd: '-1' } })).toContain('`bill.');
    expect(readReceiptCharge(receipt({ charge_nusd: '1.5' }))).toContain('bill.charge_nusd');
  });
});
