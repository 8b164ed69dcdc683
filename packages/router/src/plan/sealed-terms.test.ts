import { meter, type RequestEnd } from '@sotto/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRoute, aRoute } from '../testing/fixtures.ts';
import type { RequestSize } from './attempt-limits.ts';
import { dearestSealedPrice, sealedHold, sealedTerms } from './sealed-terms.ts';

const size: RequestSize = { promptTokensAtMost: 1000, promptTokensLikely: 300, maxOutputTokens: 50 };
const open = { contextLength: 5000, maxOutputTokens: 400 };
const cheap = aRoute({ provider: 'acme', ...open, input: 1, output: 2 });
const dear = aRoute({ provider: 'acme/large', ...open, maxOutputTokens: 800, input: 3, output: 1 });

describe('the terms of a sealed request', () => {
  it('where fields are sealed, are its own bounds at its route’s price', () => {
    const terms = sealedTerms('fields', { route: cheap, neighbours: [dear], size });
    expect(terms).toEqual({
      bounds: { promptTokens: 1000, completionTokens: 50 },
      prices: [cheap.price],
      flat: undefined,
      mostOutputTokens: undefined,
    });
    expect(sealedHold(terms)).toBe(1_000_000n + 100_000n);
  });

  it('where the body is sealed whole, are those of the dearest model at the address, for thrice its output', () => {
    const unknown = { ...size, maxOutputTokens: undefined };
    const terms = sealedTerms('frames', { route: cheap, neighbours: [dear], size: unknown });
    expect(terms.bounds).toEqual({ promptTokens: 1000, completionTokens: 2400 });
    expect(terms.mostOutputTokens).toBe(2400);
    expect(sealedHold(terms)).toBe(1_000_000n + 4_800_000n);
    expect(dearestSealedPrice(terms, { promptTokens: 1000, producedBytes: 4 })).toBe(dear.price);
    expect(dearestSealedPrice(terms, { promptTokens: 1, producedBytes: 400 })).toBe(cheap.price);
  });

  it('if it was compressed as well, are the full window and the full ceiling', () => {
    const terms = sealedTerms('none', { route: cheap, neighbours: [], size });
    expect(terms.flat).toMatchObject({ promptTokens: 5000, completionTokens: 400, cachedTokens: 0 });
    expect(terms.mostOutputTokens).toBe(400);
    expect(sealedHold(terms)).toBe(5_000_000n + 800_000n);
  });

  it('hold what any answer is charged, however long it is and however it ends', () => {
    const ends: RequestEnd[] = ['completed', 'client_left', 'provider_broke_while_held_back', 'total_time_ran_out'];
    const anySize = fc.record({
      promptTokensAtMost: fc.nat(9000),
      promptTokensLikely: fc.nat(9000),
      maxOutputTokens: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
    });
    const routes = fc.array(anyRoute, { minLength: 1, maxLength: 4 });
    const metering = fc.constantFrom('fields' as const, 'frames' as const, 'none' as const);
    fc.assert(
      fc.property(routes, anySize, metering, fc.nat(1e6), fc.constantFrom(...ends), (all, own, by, bytes, end) => {
        const [first, ...neighbours] = all;
        if (first === undefined) return;
        const route = { ...first, contextLength: first.contextLength ?? 4096 };
        const terms = sealedTerms(by, { route, neighbours, size: own });
        const counted = { promptTokens: own.promptTokensLikely, producedBytes: bytes };
        const price = dearestSealedPrice(terms, counted) ?? route.price;
        const holdNusd = sealedHold(terms);
        const { bounds } = terms;
        const metered = meter({ end, reported: terms.flat, counted, bounds, price, holdNusd });
        expect(metered.excessNusd).toBe(0n);
        expect(metered.chargeNusd).toBeLessThanOrEqual(holdNusd);
        if (by === 'none') expect(metered).toMatchObject({ usage: terms.flat, estimated: false });
        else expect(metered.estimated).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
