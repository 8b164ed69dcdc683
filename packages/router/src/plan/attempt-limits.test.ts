import { cost, type Usage } from '@sotto/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyRoute, aRoute, type RouteSketch } from '../testing/fixtures.ts';
import { attemptBounds, embeddingBounds, holdOf, outputCeiling, type RequestSize } from './attempt-limits.ts';

const route = (limits: Omit<RouteSketch, 'provider'>) => aRoute({ provider: 'acme', ...limits });
const size = (changes: Partial<RequestSize> = {}): RequestSize => ({
  promptTokensAtMost: 1000,
  promptTokensLikely: 300,
  maxOutputTokens: undefined,
  ...changes,
});

describe('outputCeiling', () => {
  it('is the request’s where it has one, and never above the route’s', () => {
    expect(outputCeiling(route({ maxOutputTokens: 500 }), size({ maxOutputTokens: 200 }))).toBe(200);
    expect(outputCeiling(route({ maxOutputTokens: 500 }), size({ maxOutputTokens: 900 }))).toBe(500);
    expect(outputCeiling(route({ contextLength: 800 }), size({ maxOutputTokens: 900 }))).toBe(800);
    expect(outputCeiling(route({}), size({ maxOutputTokens: 100_000 }))).toBe(32_768);
  });

  it('is the route’s if the request has none', () => {
    expect(outputCeiling(route({ maxOutputTokens: 500 }), size())).toBe(500);
    expect(outputCeiling(route({}), size())).toBe(32_768);
  });

  it('leaves room for the prompt in the window', () => {
    expect(outputCeiling(route({ maxOutputTokens: 900, contextLength: 1000 }), size())).toBe(700);
    expect(outputCeiling(route({ maxOutputTokens: 600, contextLength: 1000 }), size())).toBe(600);
    expect(outputCeiling(route({ contextLength: 1000 }), size())).toBe(700);
  });

  it('leaves an answer some room where the estimate of the prompt fills the window', () => {
    const full = size({ promptTokensLikely: 990 });
    expect(outputCeiling(route({ contextLength: 1000 }), full)).toBe(256);
    expect(outputCeiling(route({ contextLength: 1000, maxOutputTokens: 100 }), full)).toBe(100);
  });
});

describe('attemptBounds', () => {
  it('bounds the prompt by its bytes and by the window', () => {
    expect(attemptBounds(route({ contextLength: 5000 }), size()).promptTokens).toBe(1000);
    expect(attemptBounds(route({ contextLength: 600 }), size()).promptTokens).toBe(600);
    expect(attemptBounds(route({}), size()).promptTokens).toBe(1000);
  });

  it('bounds the completion by the ceiling that is sent upstream', () => {
    expect(attemptBounds(route({ maxOutputTokens: 70 }), size()).completionTokens).toBe(70);
  });
});

describe('embeddingBounds', () => {
  it('counts every input, however short the window of each, and no output', () => {
    expect(embeddingBounds(route({ contextLength: 600, maxOutputTokens: 70 }), size())).toEqual({
      promptTokens: 1000,
      completionTokens: 0,
    });
  });
});

describe('holdOf', () => {
  const usd = 1_000_000_000n;
  const million = size({ promptTokensAtMost: 1_000_000, maxOutputTokens: 1_000_000 });
  const open = { contextLength: 5_000_000, maxOutputTokens: 2_000_000 };

  it('reserves for the most expensive attempt that the policy permits', () => {
    const cheap = route({ ...open, input: 1, output: 2 });
    const dear = route({ ...open, input: 2, output: 4 });
    expect(holdOf([cheap], million)).toBe(3n * usd);
    expect(holdOf([cheap, dear], million)).toBe(6n * usd);
    expect(holdOf([dear, cheap], million)).toBe(6n * usd);
  });

  it('is dearest in money, not in price: a longer answer at a lower price can cost more', () => {
    const long = route({ ...open, output: 2 });
    const short = route({ ...open, output: 3, maxOutputTokens: 100 });
    const request = size({ promptTokensAtMost: 0 });
    expect(holdOf([short, long], request)).toBe(holdOf([long], request));
    expect(holdOf([short], request)).toBeLessThan(holdOf([long], request));
  });

  it('counts the prompt at the dearest price it can meet', () => {
    const cached = route({ ...open, input: 1, output: 0, price: { cacheWrite: 5_000_000 } });
    expect(holdOf([cached], million)).toBe(5n * usd);
    const tiered = (above: number) =>
      route({ ...open, input: 1, output: 0, price: { tiers: [{ abovePromptTokens: above, input: 3_000_000 }] } });
    expect(holdOf([tiered(999_999)], million)).toBe(3n * usd);
    expect(holdOf([tiered(1_000_000)], million)).toBe(1n * usd);
  });

  it('is nothing where nothing may be tried', () => {
    expect(holdOf([], million)).toBe(0n);
  });

  it('takes other bounds for other media', () => {
    expect(holdOf([route({ input: 2, output: 9, contextLength: 10 })], million, embeddingBounds)).toBe(2n * usd);
  });

  it('covers the cost of any usage within the bounds of any attempt', () => {
    const anySize: fc.Arbitrary<RequestSize> = fc.record({
      promptTokensAtMost: fc.nat(5000),
      promptTokensLikely: fc.nat(5000),
      maxOutputTokens: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
    });
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(anyRoute, { minLength: 1, maxLength: 3 }), anySize, shares, (attempts, request, parts) => {
        const held = holdOf(attempts, request);
        const [prompt = 1, completion = 1, cached = 0, written = 0, thought = 0] = parts;
        for (const attempt of attempts) {
          const bounds = attemptBounds(attempt, request);
          const usage: Usage = {
            promptTokens: Math.round(bounds.promptTokens * prompt),
            completionTokens: Math.round(bounds.completionTokens * completion),
            cachedTokens: Math.round(bounds.promptTokens * cached),
            cacheWriteTokens: Math.round(bounds.promptTokens * written),
            reasoningTokens: Math.round(bounds.completionTokens * thought),
          };
          expect(cost(usage, attempt.price) <= held).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('never exceeds the cost of the dearest attempt at its highest prices', () => {
    fc.assert(
      fc.property(anyRoute, (attempt) => {
        const request = size({ promptTokensAtMost: 400, maxOutputTokens: 100 });
        const { price } = attempt;
        const bounds = attemptBounds(attempt, request);
        const input = Math.max(price.input, price.cachedInput ?? 0, price.cacheWrite ?? 0);
        const output = Math.max(price.output, price.reasoning ?? 0);
        // No tier of these routes starts below 500 prompt tokens.
        const pico = bounds.promptTokens * input + bounds.completionTokens * output;
        expect(holdOf([attempt], request)).toBe(BigInt(Math.ceil(pico / 1000)));
      }),
      { numRuns: 100 },
    );
  });
});
