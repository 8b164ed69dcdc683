import type { ModelAnswer, RouteAnswer } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { findModels } from './find-models.ts';
import type { ModelSearch } from './model-search.ts';

const route = (changes: Partial<RouteAnswer>): RouteAnswer => ({
  provider: 'acme',
  privacy_class: 'anonymous',
  pricing: { input: 1, output: 2 },
  capabilities: { tools: false, vision: false, structured_output: false, reasoning: null },
  context_length: null,
  max_output_tokens: null,
  ...changes,
});

const model = (id: string, routes: readonly RouteAnswer[], changes: Partial<ModelAnswer> = {}): ModelAnswer => ({
  id,
  object: 'model',
  created: 0,
  owned_by: 'lab',
  name: id,
  model_type: 'text',
  context_length: 8000,
  max_output_tokens: null,
  provider_routes: [...routes],
  auto_provider: null,
  privacy_class: null,
  capabilities: null,
  pricing: null,
  ...changes,
});

const models = [
  model('/auto', []),
  model('lab/mixed', [
    route({ privacy_class: 'tee', pricing: { input: 5, output: 9 }, provider: 'vault' }),
    route({ pricing: { input: 0.1, output: 3 }, context_length: 4000 }),
  ]),
  model('lab/able', [
    route({
      capabilities: {
        tools: true,
        vision: false,
        structured_output: false,
        reasoning: { efforts: ['low'], can_disable: false },
      },
    }),
  ]),
  model('lab/paint', [route({ pricing: { image: 0.04 } })], {
    model_type: 'image',
    context_length: null,
    name: 'Brush',
  }),
];
const found = (search: ModelSearch): string[] => findModels(models, search).map((one) => one.model.id);

describe('findModels', () => {
  it('leaves out `/auto`, which nothing serves by itself', () => {
    expect(found({})).toEqual(['lab/paint', 'lab/able', 'lab/mixed']);
  });

  it('wants one route that does all: not the tier of one and the price of another', () => {
    expect(found({ tier: 'private' })).toEqual(['lab/mixed']);
    expect(found({ price: 0.5 })).toEqual(['lab/mixed']);
    expect(found({ tier: 'private', price: 0.5 })).toEqual([]);
    expect(found({ provider: 'vault', price: 5 })).toEqual(['lab/mixed']);
  });

  it('shows of a model only the routes that fit', () => {
    expect(findModels(models, { tier: 'tee' })[0]?.routes.map(({ provider }) => provider)).toEqual(['vault']);
  });

  it("holds a route's own context against what is asked, else the model's", () => {
    expect(found({ context: 8000 })).toEqual(['lab/able', 'lab/mixed']);
    expect(findModels(models, { context: 5000 })[1]?.routes.map(({ provider }) => provider)).toEqual(['vault']);
    expect(found({ context: 8001 })).toEqual([]);
  });

  it('wants every ability that is named', () => {
    expect(found({ can: 'tools,reasoning' })).toEqual(['lab/able']);
    expect(found({ can: 'tools,vision' })).toEqual([]);
  });

  it('finds words in id and name, in any order and case', () => {
    expect(found({ q: 'BRUSH lab' })).toEqual(['lab/paint']);
    expect(found({ q: 'brush mixed' })).toEqual([]);
    expect(found({ type: 'image' })).toEqual(['lab/paint']);
  });

  it('sorts by the best figure of each, and what has none comes last', () => {
    expect(found({ sort: 'input' })).toEqual(['lab/mixed', 'lab/able', 'lab/paint']);
    expect(found({ sort: 'output' })).toEqual(['lab/able', 'lab/mixed', 'lab/paint']);
    expect(found({ sort: 'context' })).toEqual(['lab/able', 'lab/mixed', 'lab/paint']);
  });
});
