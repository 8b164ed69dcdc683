import { describe, expect, it } from 'vitest';
import { readPrices } from '../bill/price-list.ts';
import { chatBound } from './chat-bound.ts';

const limits = { context_length: 8000, max_output_tokens: 1000 };
const routesOf = (routes: readonly object[], more: object = {}) =>
  readPrices({
    data: [
      { id: 'acme/small', ...limits, provider_routes: routes, ...more },
      { id: 'acme/dear', ...limits, provider_routes: [{ provider: 'dear', pricing: { input: 90, output: 90 } }] },
    ],
  })?.prices ?? expect.unreachable('these are prices');

const cheap = { provider: 'cheap', pricing: { input: 0.1, output: 0.3 } };
const boundOf = (body: object, routes = routesOf([cheap])) => {
  const text = JSON.stringify({ model: 'acme/small', messages: [], ...body });
  return { bytes: Buffer.byteLength(text), bound: chatBound(text, JSON.parse(text), routes) };
};

describe('the bound of a chat', () => {
  it('is exact: each byte and the template at the input price, and the whole output, in nano-USD', () => {
    const { bytes, bound } = boundOf({ max_tokens: 50 });
    // A token of input costs 100 nano-USD, and one of output 300.
    expect(bound).toBe(BigInt(bytes + 64) * 100n + 50n * 300n);
  });

  it('counts what the model may write, if the request names no output or more than that', () => {
    const { bytes, bound } = boundOf({});
    expect(bound).toBe(BigInt(bytes + 64) * 100n + 1000n * 300n);
    for (const max_tokens of [5000, -1, 0.5, 'many']) {
      const other = boundOf({ max_tokens });
      expect(other.bound, String(max_tokens)).toBe(BigInt(other.bytes + 64) * 100n + 1000n * 300n);
    }
  });

  it('counts no more of the prompt than the route holds', () => {
    expect(boundOf({ max_tokens: 0, messages: [{ role: 'user', content: 'a'.repeat(9000) }] }).bound).toBe(800_000n);
  });

  it('is that of the dearest route, by its own limits, its tiers and its caches', () => {
    const tiers = [
      { above_prompt_tokens: 50, cache_write: 7 },
      { above_prompt_tokens: 7000, input: 40 },
    ];
    const routes = routesOf([cheap, { provider: 'dear', max_output_tokens: 10, pricing: { ...cheap.pricing, tiers } }]);
    const { bytes, bound } = boundOf({}, routes);
    expect(bound).toBe(BigInt(bytes + 64) * 7000n + 10n * 300n);
  });

  it('is that of any model, if a name of the request is not in the list', () => {
    const { bytes, bound } = boundOf({ max_tokens: 50, models: ['/auto'] });
    expect(bound).toBe(BigInt(bytes + 64 + 50) * 90_000n);
    expect(boundOf({ max_tokens: 50, models: ['acme/small:floor'] }).bound).toBeLessThan(100_000n);
  });
});
