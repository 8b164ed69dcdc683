import { describe, expect, it } from 'vitest';
import { importModels } from './import-models.ts';
import { readPriceFile } from './price-file.ts';

const today = '2026-07-01';
const imported = (file: unknown, listedAs: string) => {
  const ofProvider = readPriceFile(file, today)?.modelsOf(listedAs);
  const options = { provider: 'own', creator: 'own', privacyClass: 'anonymous', asOf: today, given: {} } as const;
  const read = importModels(ofProvider?.list ?? [], options);
  return { models: read?.file.models ?? [], leftOut: [...(ofProvider?.leftOut ?? []), ...(read?.leftOut ?? [])] };
};
const routeOf = (file: unknown, listedAs: string) => imported(file, listedAs).models[0]?.routes[0];

describe("LiteLLM's price map", () => {
  const chat = { litellm_provider: 'acme', mode: 'chat', max_input_tokens: 200000, max_output_tokens: 8192 };
  const priced = { ...chat, input_cost_per_token: 3e-6, output_cost_per_token: 0.000015 };

  it('becomes models with exact prices, tiers, limits and capabilities', () => {
    const file = {
      sample_spec: { litellm_provider: 'one of https://docs.litellm.ai/docs/providers', mode: 'chat' },
      'acme/large': {
        ...priced,
        cache_read_input_token_cost: 3e-7,
        cache_creation_input_token_cost: 3.75e-6,
        input_cost_per_token_above_200k_tokens: 6e-6,
        output_cost_per_token_above_200k_tokens: 2.25e-5,
        input_cost_per_token_priority: 9e-6,
        supports_function_calling: true,
        supports_vision: true,
      },
      'other/large': { ...priced, litellm_provider: 'other' },
      'acme/vectors': {
        litellm_provider: 'acme',
        mode: 'embedding',
        max_input_tokens: '8191',
        input_cost_per_token: '2e-8',
      },
    };
    expect(readPriceFile(file, today)?.providers).toContain('acme');
    expect(imported(file, 'acme')).toEqual({
      leftOut: [],
      models: [
        {
          ...{ id: 'own/large', name: 'large', model_type: 'text', context_length: 200000, max_output_tokens: 8192 },
          routes: [
            {
              ...{ provider: 'own', upstream_model: 'large', privacy_class: 'anonymous' },
              pricing: {
                ...{ input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 },
                tiers: [{ above_prompt_tokens: 200000, input: 6, output: 22.5 }],
              },
              capabilities: { tools: true, vision: true },
            },
          ],
        },
        {
          ...{ id: 'own/vectors', name: 'vectors', model_type: 'embedding', context_length: 8191 },
          routes: [
            { provider: 'own', upstream_model: 'vectors', privacy_class: 'anonymous', pricing: { input: 0.02 } },
          ],
        },
      ],
    });
  });

  it.each([
    ['no price', {}, /no price/],
    ['a price of 0', { input_cost_per_token: 0, output_cost_per_token: 0 }, /free/],
    [
      'a price by ranges',
      { ...priced, tiered_pricing: [{ range: [0, 1000], input_cost_per_token: 1e-6 }] },
      /cannot be read/,
    ],
    ['a price for each request', { ...priced, input_cost_per_request: 0.01 }, /each request/],
    ['no context length', { ...priced, max_input_tokens: undefined }, /no context length/],
    ['a price that is no number', { ...priced, input_cost_per_token: 'ask us' }, /no number/],
    ['another mode', { ...priced, mode: 'responses' }, /responses/],
    ['a date of retirement that has passed', { ...priced, deprecation_date: '2026-01-01' }, /retired since 2026-01-01/],
  ])('leaves a model with %s out, and says so', (_, facts, reason) => {
    const made = imported({ 'acme/large': { ...chat, ...facts } }, 'acme');
    expect(made.models).toEqual([]);
    expect(made.leftOut).toMatchObject([{ reason: expect.stringMatching(reason) }]);
  });

  it('offers no vision if images cost extra', () => {
    const route = routeOf({ large: { ...priced, supports_vision: true, input_cost_per_image: 0.001 } }, 'acme');
    expect(route?.capabilities).toBeUndefined();
  });
});

describe('api.json of models.dev', () => {
  const model = {
    ...{ id: 'lab/large', name: 'Large', attachment: true, reasoning: true, tool_call: true, structured_output: true },
    modalities: { input: ['text', 'image'], output: ['text'] },
    limit: { context: 1048576, output: 65536 },
    cost: {
      input: 1.25,
      output: 10,
      cache_read: 0.31,
      context_over_200k: { input: 2.5, output: 15, cache_read: 0.625 },
    },
  };
  const fileWith = (...models: object[]) => ({
    acme: {
      id: 'acme',
      env: ['ACME_API_KEY'],
      name: 'Acme',
      models: Object.fromEntries(models.map((each, at) => [at, each])),
    },
  });

  it('becomes models with exact prices, tiers, limits and capabilities', () => {
    expect(readPriceFile(fileWith(model), today)).toMatchObject({ kind: 'models.dev', providers: ['acme'] });
    expect(imported(fileWith(model), 'acme').models).toEqual([
      {
        ...{ id: 'lab/large', name: 'Large', model_type: 'text', context_length: 1048576, max_output_tokens: 65536 },
        routes: [
          {
            ...{ provider: 'own', upstream_model: 'lab/large', privacy_class: 'anonymous' },
            pricing: {
              ...{ input: 1.25, output: 10, cached_input: 0.31 },
              tiers: [{ above_prompt_tokens: 200000, input: 2.5, output: 15, cached_input: 0.625 }],
            },
            capabilities: {
              ...{ tools: true, vision: true, structured_output: true },
              reasoning: { efforts: [], can_disable: false },
            },
          },
        ],
      },
    ]);
  });

  it('reads tiers by their size, and refuses those of another kind', () => {
    const tier = { input: 2, output: 12, tier: { type: 'context', size: 128000 } };
    const withTier = (change: object) =>
      fileWith({ ...model, cost: { input: 1, output: 6, tiers: [{ ...tier, ...change }] } });
    expect(routeOf(withTier({}), 'acme')?.pricing.tiers).toEqual([
      { above_prompt_tokens: 128000, input: 2, output: 12 },
    ]);
    expect(imported(withTier({ tier: { type: 'time' } }), 'acme').leftOut).toMatchObject([
      { id: 'lab/large', reason: expect.stringContaining('cannot be read') },
    ]);
  });

  it('leaves out models that are deprecated or without a price, and takes embeddings as such', () => {
    const embedding = {
      id: 'embed-small',
      modalities: { input: ['text'], output: ['text'] },
      limit: { context: 8191, output: 1536 },
      cost: { input: 0.02, output: 0 },
    };
    const { cost: _, ...unpriced } = model;
    const made = imported(
      fileWith({ ...model, status: 'deprecated' }, { ...unpriced, id: 'lab/other' }, embedding),
      'acme',
    );
    expect(made.models).toMatchObject([{ id: 'own/embed-small', model_type: 'embedding' }]);
    expect(made.leftOut.map(({ id }) => id)).toEqual(['lab/large', 'lab/other']);
  });
});

it('anything else is no price file', () => {
  for (const other of [{ data: [] }, [], {}, 'text', null]) expect(readPriceFile(other, today)).toBeUndefined();
});
