import { expect, it } from 'vitest';
import { outputWithin, readOfferedModels } from './offered-model.ts';

const route = (max_output_tokens: number | null): object => ({ provider: 'p', max_output_tokens });
const entry = (more: object): object => ({
  id: 'acme/small',
  object: 'model',
  model_type: 'text',
  created: 5,
  ...more,
});
const read = (more: object) => readOfferedModels({ data: [entry(more)] })[0];

it('reads the models that chat, with the largest output of any route', () => {
  expect(read({ name: 'Small', context_length: 1000, provider_routes: [route(100), route(400)] })).toEqual({
    id: 'acme/small',
    name: 'Small',
    created: 5,
    contextLength: 1000,
    maxOutputTokens: 400,
  });
  expect(readOfferedModels({ data: [entry({ model_type: 'embedding' }), 'x', {}] })).toEqual([]);
  expect(readOfferedModels(undefined)).toEqual([]);
});

it('lowers an output to what the model can give, and only then', () => {
  const bounded = read({ provider_routes: [route(100)] });
  expect([32_000, 100, 7, undefined].map((asked) => outputWithin(asked, bounded))).toEqual([100, 100, 7, undefined]);
  for (const model of [undefined, read({ provider_routes: [route(100), route(null)] })])
    expect(outputWithin(32_000, model)).toBe(32_000);
});
