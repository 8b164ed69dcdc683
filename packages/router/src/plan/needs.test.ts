import { describe, expect, it } from 'vitest';
import { aRoute, needing } from '../testing/fixtures.ts';
import { holds, noNeeds, offers } from './needs.ts';

const route = (capabilities: NonNullable<Parameters<typeof aRoute>[0]['capabilities']>) =>
  aRoute({ provider: 'acme', capabilities });
const reasoning = { efforts: ['low', 'high'], canDisable: true };

describe('noNeeds', () => {
  it('is met by a route that offers nothing', () => {
    expect(offers(route({}), noNeeds('text'), true)).toBe(true);
    expect(offers(route({ reasoning: { efforts: [], canDisable: false } }), noNeeds('text'), true)).toBe(true);
    expect(holds(aRoute({ provider: 'acme', contextLength: 1, maxOutputTokens: 1 }), noNeeds('text'))).toBe(true);
    expect(noNeeds('image').modelType).toBe('image');
  });
});

describe('offers', () => {
  it.each(['tools', 'vision', 'structuredOutput'] as const)(
    'never does without %s where it is needed',
    (capability) => {
      const needs = needing({ [capability]: true });
      const everythingElse = { tools: true, vision: true, structuredOutput: true, [capability]: false };
      expect(offers(route(everythingElse), needs, false)).toBe(false);
      expect(offers(route({ [capability]: true }), needs, false)).toBe(true);
    },
  );

  it.each([
    ['JSON output', { jsonObject: true }, { structuredOutput: true }, {}],
    ['a reasoning effort', { reasoningEffort: 'high' }, { reasoning }, {}],
    [
      'a reasoning effort of that name',
      { reasoningEffort: 'high' },
      { reasoning },
      { reasoning: { ...reasoning, efforts: ['low'] } },
    ],
    [
      'a switch for reasoning',
      { reasoningDisabled: true },
      { reasoning },
      { reasoning: { ...reasoning, canDisable: false } },
    ],
  ])('interface 2.2: `require_parameters` requires %s, which is a wish without it', (_, needs, able, unable) => {
    expect(offers(route(able), needing(needs), true)).toBe(true);
    expect(offers(route(unable), needing(needs), true)).toBe(false);
    expect(offers(route(unable), needing(needs), false)).toBe(true);
  });

  it('needs no switch where there is no reasoning to switch off', () => {
    expect(offers(route({}), needing({ reasoningDisabled: true }), true)).toBe(true);
  });
});

describe('holds', () => {
  const fits = (limits: { contextLength?: number; maxOutputTokens?: number }, prompt: number, output?: number) =>
    holds(aRoute({ provider: 'acme', ...limits }), needing({ promptTokens: prompt, maxOutputTokens: output }));

  it('interface 3.4 step 3: wants prompt plus requested output within the window', () => {
    expect(fits({ contextLength: 100 }, 60, 40)).toBe(true);
    expect(fits({ contextLength: 100 }, 60, 41)).toBe(false);
    expect(fits({ contextLength: 100 }, 61, 40)).toBe(false);
  });

  it('wants room for one token of output where the request asks for none in particular', () => {
    expect(fits({ contextLength: 100 }, 99)).toBe(true);
    expect(fits({ contextLength: 100 }, 100)).toBe(false);
  });

  it('wants the requested output within the route’s own limit', () => {
    expect(fits({ maxOutputTokens: 40 }, 0, 40)).toBe(true);
    expect(fits({ maxOutputTokens: 40 }, 0, 41)).toBe(false);
    expect(fits({ maxOutputTokens: 40 }, 1_000_000)).toBe(true);
  });

  it('knows no limits where the catalog has none', () => {
    expect(fits({}, 1e9, 1e9)).toBe(true);
  });
});
