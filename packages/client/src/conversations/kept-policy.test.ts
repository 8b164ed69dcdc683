import { initialPreferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { keptPolicy } from './kept-policy.ts';

const route = (provider: string, privacyClass: 'anonymous' | 'private' | 'tee' | 'e2ee', hasTools = true) => ({
  ...{ provider, privacyClass, hasTools },
});
const equals = [route('acme', 'private'), route('birch', 'private')];

/** The policy for a conversation that `acme` served. */
function kept({
  provider = undefined as unknown,
  routes = equals,
  served = { provider: 'acme', privacyClass: 'private' as 'anonymous' | 'private' | 'tee' },
  preferences = {},
  needsTools = false,
} = {}) {
  const facts = { preferences: { ...initialPreferences, ...preferences }, routesOf: () => routes };
  return keptPolicy({ provider, needsTools, served, facts, model: 'acme/coder' });
}

const policy = { order: ['acme'], sort: 'privacy', minimum_privacy: 'private' };

describe('the policy that keeps a conversation with its provider', () => {
  it('names the provider, the class as its floor, and the sort in effect', () => {
    expect(kept()).toEqual(policy);
    expect(kept({ provider: {} })).toEqual(policy);
    for (const sort of ['privacy', 'price', 'latency', 'throughput'] as const)
      expect(kept({ preferences: { provider_sort: sort } })).toEqual({ ...policy, sort });
    // A request with a policy of its own is sorted by privacy, whatever the workspace prefers.
    const own = { max_price: { output: 2 }, ignore: ['cedar'], require_parameters: true };
    expect(kept({ provider: own, preferences: { provider_sort: 'price' } })).toEqual({ ...own, ...policy });
  });

  it('never lets a weaker floor in than the class that served', () => {
    expect(kept({ provider: { minimum_privacy: 'anonymous' } })).toEqual(policy);
    expect(kept({ preferences: { fallback_floor: 'anonymous' } })).toEqual(policy);
  });

  // An agent may raise the floor in the middle of a conversation.
  it.each(['tee', 'e2ee'] as const)('is none if the request demands more than the routes have: %s', (floor) => {
    expect(kept({ provider: { minimum_privacy: floor } })).toBeUndefined();
  });

  // To name `anonymous` removes the floor that these sorts imply. The workspace may have changed its sort since the last turn.
  it('does not name the class `anonymous` under a sort that implies `private`', () => {
    const weak = {
      routes: [route('acme', 'anonymous'), route('birch', 'anonymous')],
      served: { provider: 'acme', privacyClass: 'anonymous' as const },
    };
    for (const sort of ['price', 'latency', 'throughput'] as const)
      expect(kept({ ...weak, preferences: { provider_sort: sort } }), sort).toBeUndefined();
    for (const sort of ['default', 'privacy'] as const)
      expect(kept({ ...weak, preferences: { provider_sort: sort } })).toEqual({
        ...policy,
        minimum_privacy: 'anonymous',
      });
  });

  it.each<[string, Parameters<typeof kept>[0]]>([
    ['a stronger provider could serve', { routes: [...equals, route('cedar', 'tee')] }],
    ['the provider is not listed', { routes: [route('birch', 'private'), route('cedar', 'private')] }],
    ['its class is another one than listed', { served: { provider: 'acme', privacyClass: 'tee' } }],
    ['it is the only one of its class', { routes: [route('acme', 'private'), route('cedar', 'anonymous')] }],
    ['the others are its variants', { routes: [route('acme', 'private'), route('acme/eu', 'private')] }],
    ['the model is not listed', { routes: [] }],
  ])('is none if %s', (_, given) => {
    expect(kept(given)).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ['a pin', 'acme'],
    ['an order', { order: ['birch'] }],
    ['an empty order', { order: [] }],
    ['a choice', { only: ['acme', 'birch'] }],
    ['a sort', { sort: 'price' }],
    ['one attempt', { max_attempts: 1 }],
    ['no fallbacks', { allow_fallbacks: false }],
    ['encryption', { minimum_privacy: 'e2ee' }],
    ['the provider as one to ignore', { ignore: ['acme'] }],
    ['what the service refuses', { quantizations: ['fp8'] }],
  ])('is none if the request names %s', (_, provider) => {
    expect(kept({ provider })).toBeUndefined();
  });

  it.each([{ provider_allow_fallbacks: false }, { provider_max_attempts: 1 }, { provider_ignore: ['acme'] }])(
    'is none if the workspace prefers %j',
    (preferences) => {
      expect(kept({ preferences })).toBeUndefined();
    },
  );

  it('does not count stronger routes that the request cannot reach', () => {
    const routes = [...equals, route('cedar', 'tee', false), route('dune', 'e2ee')];
    expect(kept({ routes, needsTools: true })).toEqual(policy);
    expect(kept({ routes })).toBeUndefined();
    expect(kept({ routes, provider: { ignore: ['cedar'] } })).toEqual({ ...policy, ignore: ['cedar'] });
    expect(kept({ routes, preferences: { provider_ignore: ['cedar'] } })).toEqual(policy);
  });
});
