import { expect, it } from 'vitest';
import { type Imported, type ImportOptions, importModels } from './import-models.ts';

const pricing = { prompt: '0.000002', completion: '0.000008', input_cache_read: '0.0000005' };
const entry = { id: 'lab/one', context_length: 128_000, max_completion_tokens: 16_384, pricing };

function imported(listed: object, given: ImportOptions['given']): Imported {
  const common = { provider: 'acme', creator: 'acme', privacyClass: 'anonymous', asOf: '2026-11-01' } as const;
  const made = importModels([listed], { ...common, given });
  if (made === undefined) throw new Error('no list');
  return made;
}

it('needs prices and a context length, from the list or given', () => {
  const plain = { id: 'one' };
  expect(imported(plain, {}).leftOut).toMatchObject([{ id: 'one', reason: expect.stringContaining('--input-price') }]);
  const priced = { input: 0.1, output: 0.2 };
  expect(imported(plain, priced).leftOut[0]?.reason).toContain('--context-length');
  expect(imported(plain, { ...priced, contextLength: 8000 }).file.models[0]).toMatchObject({
    context_length: 8000,
    routes: [{ pricing: priced }],
  });
});

it('takes what is given rather than what the list says', () => {
  const long = [{ min_prompt_tokens: 100_000, prompt: '0.000004', completion: '0.000012' }];
  const prices = (given: ImportOptions['given'], listed: unknown = { ...pricing, overrides: long }) =>
    imported({ ...entry, pricing: listed }, given).file.models[0]?.routes[0]?.pricing;
  // The prices for cached tokens and long prompts belong to the price that was replaced.
  expect(prices({ input: 3, output: 4 })).toEqual({ input: 3, output: 4 });
  expect(prices({ input: 3 }, pricing)).toEqual({ input: 3, output: 8 });
  expect(prices({ output: 0 }, pricing)).toEqual({ input: 2, output: 0 });
  // The list's prices are not read if all are given.
  for (const odd of [{ prompt: '-1' }, { prompt: '0', completion: '0' }, 'free']) {
    expect(prices({ input: 3, output: 4 }, odd)).toEqual({ input: 3, output: 4 });
  }
  expect(imported(entry, { contextLength: 8192 }).file.models[0]).toMatchObject({
    context_length: 8192,
    max_output_tokens: 8192,
  });
});

it.each<[string, object]>([
  ['it charges for each request', { ...pricing, request: '0.01' }],
  ['it costs more at some times of the day', { ...pricing, overrides: [{ utc_start: '08:00', prompt: '0.00001' }] }],
])('leaves out a model whose fee no given price replaces: %s', (reason, listed) => {
  const { leftOut } = imported({ ...entry, pricing: listed }, { input: 3, output: 4 });
  expect(leftOut).toMatchObject([{ id: 'lab/one', reason: expect.stringContaining(reason) }]);
});

it.each<[string, object]>([
  ['long prompts', { ...pricing, overrides: [{ min_prompt_tokens: 100_000, prompt: '0.000004' }] }],
  ['reasoning', { ...pricing, internal_reasoning: '0.00001' }],
  ['writes to a cache', { ...pricing, input_cache_write: '0.00001' }],
])('leaves out a model whose list prices %s, if only one base price is given', (_, listed) => {
  const { leftOut } = imported({ ...entry, pricing: listed }, { input: 3 });
  expect(leftOut).toMatchObject([{ reason: expect.stringContaining('give both') }]);
});
