import { describe, expect, it } from 'vitest';
import { shownUsage } from '../adapter.ts';
import { readUsage } from './usage.ts';

const plain = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
const metered = (more: object = {}) => readUsage({ ...plain, ...more })?.usage;
const shown = (more: object = {}) => {
  const reported = readUsage({ ...plain, ...more });
  return reported && shownUsage(reported, reported.usage);
};

describe('usage for the meter', () => {
  it('is the provider’s own count', () => {
    expect(metered()).toEqual({
      promptTokens: 100,
      completionTokens: 20,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
    });
  });

  it.each([
    ['OpenAI, Alibaba, xAI', { prompt_tokens_details: { cached_tokens: 64 } }],
    ['DeepSeek', { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }],
    ['Moonshot', { cached_tokens: 64 }],
    ['gateways to Anthropic', { cache_read_input_tokens: 64 }],
    ['more than one at once', { prompt_tokens_details: { cached_tokens: 64 }, prompt_cache_hit_tokens: 64 }],
  ])('has cached tokens as %s spell them', (_, more) => {
    expect(metered(more)?.cachedTokens).toBe(64);
    expect(shown(more)).toMatchObject({ prompt_tokens_details: { cached_tokens: 64 } });
  });

  it('has cache writes', () => {
    expect(metered({ cache_creation_input_tokens: 5 })?.cacheWriteTokens).toBe(5);
    expect(metered({ prompt_tokens_details: { cache_write_tokens: 5 } })?.cacheWriteTokens).toBe(5);
  });

  it('has reasoning as part of the completion', () => {
    const usage = metered({ completion_tokens_details: { reasoning_tokens: 15 } });
    expect(usage).toMatchObject({ completionTokens: 20, reasoningTokens: 15 });
  });

  it('adds reasoning that xAI counts outside completion_tokens, by its total', () => {
    const more = { completion_tokens: 2, total_tokens: 442, completion_tokens_details: { reasoning_tokens: 340 } };
    expect(metered(more)).toMatchObject({ completionTokens: 342, reasoningTokens: 340 });
  });

  it('adds thinking that Gemini’s OpenAI-shaped endpoint reports only in its total', () => {
    const more = { completion_tokens: 20, total_tokens: 520 };
    expect(metered(more)).toMatchObject({ completionTokens: 420, reasoningTokens: 400 });
  });

  it('does not count a cached prompt outside prompt_tokens as output', () => {
    for (const outside of [{ cache_read_input_tokens: 64 }, { cached_tokens: 44, cache_creation_input_tokens: 20 }])
      expect(metered({ ...outside, total_tokens: 184 })).toMatchObject({ completionTokens: 20, reasoningTokens: 0 });
  });

  it('has reasoning that is reported beside the details', () => {
    expect(metered({ reasoning_tokens: 5 })).toMatchObject({ completionTokens: 20, reasoningTokens: 5 });
    expect(shown({ reasoning_tokens: 5 })?.completion_tokens_details).toEqual({ reasoning_tokens: 5 });
  });

  it('of embeddings has a prompt and no completion', () => {
    expect(readUsage({ prompt_tokens: 8, total_tokens: 8 })?.usage).toMatchObject({
      promptTokens: 8,
      completionTokens: 0,
    });
  });

  it('never reads a cost of the provider’s', () => {
    const more = { cost: 12.5, cost_in_usd_ticks: 99, total_cost: 1, cost_details: { upstream: 3 } };
    expect(readUsage({ ...plain, ...more })).toEqual(readUsage(plain));
  });

  it.each([
    ['nothing', null],
    ['a list', []],
    ['an empty object', {}],
    ['a completion alone', { completion_tokens: 4 }],
    ['a negative count', { ...plain, prompt_tokens: -1 }],
    ['a fraction', { ...plain, prompt_tokens: 1.5 }],
    ['a text', { ...plain, prompt_tokens: '100' }],
    ['a count beyond what is exact', { ...plain, prompt_tokens: 2 ** 60 }],
  ])('is not there: %s', (_, value) => {
    expect(readUsage(value)).toBeUndefined();
  });
});

describe('usage for the client', () => {
  it('has only the provider’s details, in OpenAI’s shape', () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 1 },
    };
    expect(shown({ ...details, queue_time: 0.2, num_sources_used: 1, region: 'CANARY' })).toEqual({
      ...plain,
      ...details,
    });
    expect(shown()).toEqual(plain);
  });

  it('has the counts that are charged', () => {
    const completion_tokens_details = { reasoning_tokens: 340 };
    expect(shown({ completion_tokens: 2, total_tokens: 442, completion_tokens_details })).toEqual({
      ...{ prompt_tokens: 100, completion_tokens: 342, total_tokens: 442, completion_tokens_details },
    });
  });

  it('drops details that are not counts', () => {
    const prompt_tokens_details = { cached_tokens: 1, note: 'CANARY', nested: { a: 1 }, 'CANARY field': 5 };
    expect(shown({ prompt_tokens_details })?.prompt_tokens_details).toEqual({ cached_tokens: 1 });
    expect(shown({ prompt_tokens_details: null, completion_tokens_details: 'x' })).toEqual(plain);
  });
});
