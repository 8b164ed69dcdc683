import { describe, expect, it } from 'vitest';
import { lackedParameters } from '../parameters/route-parameters.ts';
import { aRoute, needing } from '../testing/fixtures.ts';
import { holds, knowsEffort, noNeeds } from './needs.ts';
import { offerBits } from './route-facts.ts';

const route = (capabilities: NonNullable<Parameters<typeof aRoute>[0]['capabilities']>) =>
  aRoute({ provider: 'acme', capabilities });

describe('noNeeds', () => {
  it('is met by a route that offers nothing', () => {
    expect(offerBits(noNeeds('text'))).toBe(0);
    expect(knowsEffort(route({}), noNeeds('text'))).toBe(true);
    expect(lackedParameters(route({}), noNeeds('text'))).toEqual([]);
    expect(holds(aRoute({ provider: 'acme', contextLength: 1, maxOutputTokens: 1 }), noNeeds('text'))).toBe(true);
    expect(noNeeds('image').modelType).toBe('image');
  });
});

describe('knowsEffort', () => {
  const knows = (capabilities: Parameters<typeof route>[0], reasoningEffort: string | undefined) =>
    knowsEffort(route(capabilities), needing({ reasoningEffort }));

  it.each([undefined, 'low', 'max'])(
    'treats the effort %s as optional: every model has a level that is nearest',
    (effort) => {
      expect(knows({}, effort)).toBe(true);
    },
  );

  it('requires a route that lists an effort off the common ladder', () => {
    expect(knows({ reasoning: { efforts: ['low', 'deep'], canDisable: true } }, 'deep')).toBe(true);
    expect(knows({ reasoning: { efforts: ['low', 'high'], canDisable: true } }, 'deep')).toBe(false);
    expect(knows({}, 'deep')).toBe(false);
  });
});

describe('holds', () => {
  const fits = (limits: { contextLength?: number; maxOutputTokens?: number }, prompt: number, output?: number) =>
    holds(aRoute({ provider: 'acme', ...limits }), needing({ promptTokens: prompt, maxOutputTokens: output }));

  it('wants prompt plus requested output within the window', () => {
    expect(fits({ contextLength: 100 }, 60, 40)).toBe(true);
    expect(fits({ contextLength: 100 }, 60, 41)).toBe(false);
    expect(fits({ contextLength: 100 }, 61, 40)).toBe(false);
  });

  it('requires room for one output token if the request states no limit', () => {
    expect(fits({ contextLength: 100 }, 99)).toBe(true);
    expect(fits({ contextLength: 100 }, 100)).toBe(false);
  });

  it('wants the requested output within the route’s own limit', () => {
    expect(fits({ maxOutputTokens: 40 }, 0, 40)).toBe(true);
    expect(fits({ maxOutputTokens: 40 }, 0, 41)).toBe(false);
    expect(fits({ maxOutputTokens: 40 }, 1_000_000)).toBe(true);
  });

  it('does not limit a route without limits in the catalog', () => {
    expect(fits({}, 1e9, 1e9)).toBe(true);
  });
});
