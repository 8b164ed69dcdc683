import { describe, expect, it } from 'vitest';
import { geminiThinking } from './generate-request.ts';

const thinking = (upstreamModel: string, effort: string, maxOutputTokens: number) =>
  geminiThinking({ upstreamModel, maxOutputTokens, reasoning: { effort } } as Parameters<typeof geminiThinking>[0]);

describe('thinking of Gemini up to 2.5', () => {
  it.each([
    ['low', 100_000, 1024],
    ['medium', 100_000, 8192],
    ['high', 100_000, 24_576],
    ['high', 10_000, 8000],
    ['low', 50, undefined],
  ])('at %s with an output limit of %i leaves room for the answer, and is not below the minimum', (...row) => {
    const [effort, ceiling, thinkingBudget] = row;
    const expected =
      thinkingBudget === undefined ? { includeThoughts: true } : { includeThoughts: true, thinkingBudget };
    expect(thinking('gemini-2.5-pro', effort, ceiling)).toEqual(expected);
  });
});

it('newer Gemini models get a level', () => {
  expect(thinking('gemini-3-pro', 'low', 50)).toEqual({ includeThoughts: true, thinkingLevel: 'low' });
});
