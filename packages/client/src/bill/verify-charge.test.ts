import { describe, expect, it } from 'vitest';
import { savedByCaches } from './cache-savings.ts';
import { inexactPriceIn, readPrices } from './price-list.ts';
import { type Charge, readBill } from './read-bill.ts';
import { verifyCharge } from './verify-charge.ts';

const list = {
  data: [
    {
      id: 'acme/small',
      provider_routes: [
        {
          provider: 'acme',
          pricing: { input: 0.5, output: 1.5, cached_input: 0.05, cache_write: 0.625, reasoning: 2 },
        },
        {
          provider: 'plain',
          pricing: { input: 0.07, output: 0.3, tiers: [{ above_prompt_tokens: 1000, input: 0.14 }] },
        },
      ],
    },
    { id: 'acme/paint', provider_routes: [{ provider: 'acme', pricing: { image: 0.04 } }] },
    { id: 'acme/voice', provider_routes: [{ provider: 'acme', pricing: { input_characters: 15 } }] },
  ],
};
const { prices } = readPrices(list) ?? expect.unreachable('these are prices');

const row = {
  id: 'row-1',
  operation: 'chat',
  model: 'acme/small',
  provider: 'plain',
  privacy_class: 'private',
  prompt_tokens: 7,
  cached_tokens: 0,
  completion_tokens: 3,
  reasoning_tokens: 0,
  cost: 0.00000139,
  estimated: false,
};
const charge = (changes: object = {}): Charge => {
  const bill = readBill(JSON.stringify({ data: [{ ...row, ...changes }] }));
  return (typeof bill === 'string' ? undefined : bill.charges[0]) ?? expect.unreachable(String(bill));
};
const resultOf = (changes: object) => verifyCharge(charge(changes), prices).result;

describe('a charge', () => {
  it('adds up to the nano-dollar, rounded up once', () => {
    // 7 × 70000 + 3 × 300000 pico-USD = 1390000 pico-USD.
    expect(resultOf({})).toBe('exact');
    expect(resultOf({ cost: 0.000001391 })).toBe('above');
    expect(resultOf({ cost: 0.000001389 })).toBe('below');
    // 1001 tokens are above the tier: 1001 × 140000 + 0 = 140140000 pico-USD.
    expect(resultOf({ prompt_tokens: 1001, completion_tokens: 0, cost: 0.00014014 })).toBe('exact');
    expect(resultOf({ prompt_tokens: 1001, completion_tokens: 0, cost: 0.00007007 })).toBe('below');
  });

  it('counts cached tokens and reasoning at their own prices', () => {
    const used = {
      provider: 'acme',
      prompt_tokens: 100,
      cached_tokens: 40,
      completion_tokens: 20,
      reasoning_tokens: 5,
    };
    // 60 × 0.5 + 40 × 0.05 + 15 × 1.5 + 5 × 2 = 64.5 USD per million.
    expect(resultOf({ ...used, cost: 0.0000645 })).toBe('exact');
    // With all 60 written to a cache: 60 × 0.625 more than 60 × 0.5.
    expect(resultOf({ ...used, cost: 0.00007 })).toBe('within');
    expect(resultOf({ ...used, cost: 0.000072 })).toBe('within');
    expect(resultOf({ ...used, cost: 0.000072001 })).toBe('above');
  });

  it('counts one image for an image, and whole characters for speech', () => {
    expect(resultOf({ operation: 'image', model: 'acme/paint', provider: 'acme', cost: 0.04 })).toBe('exact');
    expect(resultOf({ operation: 'image', model: 'acme/paint', provider: 'acme', cost: 0.041 })).toBe('above');
    const speech = {
      operation: 'speech',
      model: 'acme/voice',
      provider: 'acme',
      prompt_tokens: 0,
      completion_tokens: 0,
    };
    expect(resultOf({ ...speech, cost: 0.000015 * 7 })).toBe('exact');
    expect(resultOf({ ...speech, cost: 0.000015 * 7 + 1e-9 })).toBe('above');
    expect(resultOf({ ...speech, cost: 0.000015 * 20_001 })).toBe('above');
  });

  it('is unknown without a listed route, unless nothing was served', () => {
    expect(resultOf({ provider: 'gone' })).toBe('unknown');
    expect(resultOf({ provider: null, model: 'acme/none', cost: 0 })).toBe('exact');
  });

  it('without a provider is compared with every route of its model', () => {
    const answer = {
      id: 'chatcmpl-1',
      model: 'acme/small',
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10, cost: row.cost },
    };
    const read = readBill(JSON.stringify(answer));
    expect(typeof read === 'object' && read.charges.map((each) => verifyCharge(each, prices).result)).toEqual([
      'exact',
    ]);
  });
});

it.each([
  ['nothing', 'it is not valid JSON'],
  ['{"data":[{"id":1}]}', '`data.0.id` is wrong'],
  [JSON.stringify({ data: [{ ...row, cost: 1e-10 }] }), 'at most nine decimals'],
  ['{"choices":[]}', 'as an answer with its usage'],
])('an invalid bill gets a reason: %s', (text, reason) => {
  expect(readBill(text)).toContain(reason);
});

it('rejects a list with a price that is not an exact amount, and names it', () => {
  const fine = { provider: 'fine', pricing: { input: 1 } };
  const inexact = { data: [{ id: 'm', provider_routes: [fine, { provider: 'p', pricing: { input: 1e-9 } }] }] };
  expect(readPrices(inexact)).toBeUndefined();
  expect(inexactPriceIn(inexact)).toContain('a price of m by p is not a whole number of millionths');
  for (const other of [{ data: [{ id: 'm', provider_routes: [fine] }] }, {}])
    expect(inexactPriceIn(other)).toBeUndefined();
});

describe('what caches saved', () => {
  const used = { provider: 'acme', prompt_tokens: 100, cached_tokens: 40, completion_tokens: 20, reasoning_tokens: 5 };

  it('is the cost without any cache less the charge', () => {
    // 40 × (0.5 − 0.05) USD per million.
    expect(savedByCaches(charge({ ...used, cost: 0.0000645 }), prices)).toBe(18_000n);
    // 60 tokens were written, each for 0.125 more than it would have cost.
    expect(savedByCaches(charge({ ...used, cost: 0.000072 }), prices)).toBe(10_500n);
  });

  it('is not known without one price for the charge', () => {
    for (const provider of ['gone', null]) expect(savedByCaches(charge({ ...used, provider }), prices)).toBeUndefined();
  });
});

it('a charge with counted cache writes is exact or not, and nothing between', () => {
  const used = { provider: 'acme', prompt_tokens: 100, cached_tokens: 40, completion_tokens: 20, reasoning_tokens: 5 };
  expect(resultOf({ ...used, cache_write_tokens: 60, cost: 0.000072 })).toBe('exact');
  expect(resultOf({ ...used, cache_write_tokens: 0, cost: 0.000072 })).toBe('above');
});
