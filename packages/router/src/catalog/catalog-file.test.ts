import { describe, expect, it } from 'vitest';
import { type CatalogFileModel, catalogFileSchema, missingPrices, toPrice } from './catalog-file.ts';

const route = { provider: 'acme', upstream_model: 'up-1', privacy_class: 'private', pricing: { input: 1, output: 2 } };
const model = { id: 'acme/small', model_type: 'text', context_length: 1000, routes: [route] };
const parse = (changes: object) => catalogFileSchema.safeParse({ models: [{ ...model, ...changes }] });
const parseRoute = (changes: object) => parse({ routes: [{ ...route, ...changes }] });
const issuesOf = (result: ReturnType<typeof parse>): string[] =>
  result.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];

function parsedModel(changes: object): CatalogFileModel {
  const [first] = catalogFileSchema.parse({ models: [{ ...model, ...changes }] }).models;
  if (first === undefined) throw new Error('no model');
  return first;
}

describe('catalogFileSchema', () => {
  it('treats an omitted capability as not offered', () => {
    expect(parsedModel({}).routes[0]?.capabilities).toEqual({ tools: false, vision: false, structured_output: false });
    expect(parsedModel({ routes: [{ ...route, capabilities: { reasoning: {} } }] }).routes[0]?.capabilities).toEqual({
      tools: false,
      vision: false,
      structured_output: false,
      reasoning: { efforts: [], can_disable: false },
    });
  });

  it.each([
    ['small', 'without a creator'],
    ['/auto', 'the special id'],
    ['acme/small:free', 'with a suffix'],
    ['acme/small/2', 'with a second slash'],
    ['acme/sm all', 'with a space'],
  ])('refuses the model id `%s`: %s', (id) => {
    expect(issuesOf(parse({ id }))).toEqual(['models.0.id: must be `creator/model`']);
  });

  it('refuses a model id of more than 200 characters', () => {
    expect(parse({ id: `a/${'b'.repeat(198)}` }).success).toBe(true);
    expect(parse({ id: `a/${'b'.repeat(199)}` }).success).toBe(false);
  });

  it.each([
    ['an unknown key of a model', { price: 1 }],
    ['an unknown type of model', { model_type: 'video' }],
    ['a model without routes', { routes: [] }],
    ['a context of no tokens', { context_length: 0 }],
    ['a context of half a token', { context_length: 1.5 }],
  ])('refuses %s', (_, changes) => {
    expect(parse(changes).success).toBe(false);
  });

  it.each([
    ['an unknown key of a route', { region: 'eu' }],
    ['an ill-formed provider id', { provider: 'Acme' }],
    ['a class that does not exist', { privacy_class: 'secret' }],
    ['a route without pricing', { pricing: undefined }],
    ['an unknown price', { pricing: { input: 1, output: 1, inptu: 1 } }],
    ['an unknown capability', { capabilities: { telepathy: true } }],
    ['an empty list of tiers', { pricing: { input: 1, output: 1, tiers: [] } }],
    ['a tier without a size', { pricing: { input: 1, output: 1, tiers: [{ input: 2 }] } }],
    ['a date that is none', { as_of: '2026-02-31' }],
    ['a date with a time', { as_of: '2026-02-01T00:00:00Z' }],
    ['a parameter that is no name', { supported_parameters: ['Top P'] }],
    ['a range of what has none', { parameter_ranges: { seed: { max: 1 } } }],
    ['a range upside down', { parameter_ranges: { temperature: { min: 1, max: 0 } } }],
    ['an exclusive list that would drop tools', { exclusive_parameters: [['reasoning_effort', 'tools']] }],
    ['an exclusive list of one', { exclusive_parameters: [['temperature']] }],
    ['an exclusive list of what is unknown', { exclusive_parameters: [['temperature', 'top_a']] }],
    ['a tier above 0 tokens', { pricing: { input: 1, output: 1, tiers: [{ above_prompt_tokens: 0, input: 2 }] } }],
  ])('refuses %s', (_, changes) => {
    expect(parseRoute(changes).success).toBe(false);
  });

  it.each([-0.5, 0.0000001])('refuses the price %f per million, which it could only charge wrongly', (input) => {
    const message = 'must be a price of at most six decimals, 0 or more';
    expect(issuesOf(parseRoute({ pricing: { input, output: 1 } }))).toEqual([
      `models.0.routes.0.pricing.input: ${message}`,
    ]);
  });

  it('refuses a price per image that is finer than a pico-dollar', () => {
    expect(parseRoute({ pricing: { image: 0.000_000_000_001 } }).success).toBe(true);
    expect(issuesOf(parseRoute({ pricing: { image: 0.000_000_000_000_1 } }))).toEqual([
      'models.0.routes.0.pricing.image: must be a price of at most twelve decimals, 0 or more',
    ]);
  });
});

describe('missingPrices', () => {
  it.each([
    ['text', {}, ['input', 'output']],
    ['text', { input: 1 }, ['output']],
    ['text', { input: 0, output: 0 }, []],
    ['embedding', { output: 1 }, ['input']],
    ['embedding', { input: 1 }, []],
    ['image', { input: 1, output: 1 }, ['image']],
    ['image', { image: 0.04 }, []],
    ['tts', { input: 1, output: 1 }, ['input_characters']],
    ['tts', { input_characters: 15 }, []],
  ])('a missing price is reported, not counted as 0: a %s route with %j lacks %j', (modelType, pricing, missing) => {
    const parsed = parsedModel({ model_type: modelType, routes: [{ ...route, pricing }] });
    expect(parsed.routes.map((each) => missingPrices(parsed, each))).toEqual([missing]);
  });
});

describe('toPrice', () => {
  it('reads USD per million units as pico-USD per unit, and USD per image as pico-USD', () => {
    expect(
      toPrice({
        input: 0.5,
        output: 1.5,
        cached_input: 0.05,
        cache_write: 0.625,
        reasoning: 3,
        image: 0.04,
        input_characters: 15,
      }),
    ).toEqual({
      input: 500_000,
      output: 1_500_000,
      cachedInput: 50_000,
      cacheWrite: 625_000,
      reasoning: 3_000_000,
      image: 40_000_000_000,
      inputCharacter: 15_000_000,
    });
  });

  it('omits a price that is not stated, so that the base price applies', () => {
    expect(Object.keys(toPrice({ input: 1, output: 1 }))).toEqual(['input', 'output']);
  });

  it('prices tokens at 0 where a medium has no token price', () => {
    expect(toPrice({ image: 0.04 })).toMatchObject({ input: 0, output: 0 });
  });

  it('puts tiers into ascending order, as cost and hold expect them', () => {
    const tiers = [
      { above_prompt_tokens: 500, input: 3 },
      { above_prompt_tokens: 100, output: 2 },
    ];
    expect(toPrice({ input: 1, output: 1, tiers }).tiers).toEqual([
      { abovePromptTokens: 100, output: 2_000_000 },
      { abovePromptTokens: 500, input: 3_000_000 },
    ]);
  });
});
