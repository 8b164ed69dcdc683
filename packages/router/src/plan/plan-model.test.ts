import { describe, expect, it } from 'vitest';
import {
  measuring,
  oneModel,
  penalizing,
  providersFor as providersOf,
  type RouteSketch,
  refused,
  type Surroundings,
} from '../testing/fixtures.ts';

/** Plans in a workspace that sorts by privacy, unless a test says otherwise. */
const providersFor: typeof providersOf = (catalog, request, around: Surroundings = {}) =>
  providersOf(catalog, request, { ...around, preferences: { provider_sort: 'privacy', ...around.preferences } });

const tee: RouteSketch = { provider: 'encl', privacy: 'tee', input: 2 };
const priv: RouteSketch = { provider: 'priv', privacy: 'private', input: 1 };
const anon: RouteSketch = { provider: 'anon', privacy: 'anonymous', input: 0 };
const tiers = oneModel(anon, priv, tee);

describe('step-down', () => {
  it('excludes routes weaker than the first unless the request or the workspace allows them', () => {
    expect(providersFor(tiers)).toEqual(['encl']);
    expect(providersFor(oneModel(anon, priv))).toEqual(['priv']);
  });

  it('keeps routes of the first one’s tier, and stronger ones', () => {
    expect(providersFor(oneModel(tee, { ...tee, provider: 'more' }))).toEqual(['encl', 'more']);
    expect(providersFor(oneModel(tee, priv), { provider: { sort: 'price' } })).toEqual(['priv', 'encl']);
    expect(providersFor(tiers, { provider: { order: ['anon'] } })).toEqual(['anon', 'encl', 'priv']);
  });

  it('goes down to the minimum that the request states', () => {
    expect(providersFor(tiers, { provider: { minimum_privacy: 'anonymous' } })).toEqual(['encl', 'priv', 'anon']);
    expect(providersFor(tiers, { provider: { minimum_privacy: 'private' } })).toEqual(['encl', 'priv']);
    expect(providersFor(tiers, { provider: { minimum_privacy: 'tee' } })).toEqual(['encl']);
  });

  it('does not take the workspace’s minimum for a request to step down', () => {
    expect(providersFor(tiers, {}, { preferences: { provider_minimum_privacy: 'private' } })).toEqual(['encl']);
  });

  it('never goes below the boundary or the workspace’s minimum, whatever the request states', () => {
    const provider = { minimum_privacy: 'anonymous', order: ['encl', 'priv', 'anon'] } as const;
    const request = { provider: { ...provider, order: [...provider.order] } };
    expect(providersFor(tiers, request, { preferences: { privacy_boundary: 'Private' } })).toEqual(['encl', 'priv']);
    expect(providersFor(tiers, request, { preferences: { provider_minimum_privacy: 'tee' } })).toEqual(['encl']);
  });

  it('goes down to the weaker routes that `order` names, and to no others', () => {
    expect(providersFor(tiers, { provider: { order: ['encl', 'anon'] } })).toEqual(['encl', 'anon']);
    expect(providersFor(tiers, { provider: { order: ['encl'] } })).toEqual(['encl']);
    const region = oneModel(tee, { ...anon, provider: 'anon/eu' });
    expect(providersFor(region, { provider: { order: ['encl', 'anon'] } })).toEqual(['encl', 'anon/eu']);
  });

  it('goes down to the workspace’s fallback floor, unasked', () => {
    expect(providersFor(tiers, {}, { preferences: { fallback_floor: 'private' } })).toEqual(['encl', 'priv']);
    expect(providersFor(tiers, {}, { preferences: { fallback_floor: 'anonymous' } })).toEqual(['encl', 'priv', 'anon']);
    expect(providersFor(tiers, {}, { preferences: { fallback_floor: 'tee' } })).toEqual(['encl']);
  });

  it('a set fallback floor always caps: neither a stated minimum nor `order` goes below it', () => {
    const preferences = { fallback_floor: 'private' } as const;
    const stated = { provider: { minimum_privacy: 'anonymous' } } as const;
    expect(providersFor(tiers, stated, { preferences })).toEqual(['encl', 'priv']);
    const named = { provider: { order: ['encl', 'anon'] } };
    expect(providersFor(tiers, named, { preferences })).toEqual(['encl', 'priv']);
    expect(providersFor(tiers, named, { preferences: { fallback_floor: 'tee' } })).toEqual(['encl']);
  });

  it('caps fallbacks, not the first route', () => {
    const first = { provider: { order: ['anon'] } };
    expect(providersFor(tiers, first, { preferences: { fallback_floor: 'tee' } })[0]).toBe('anon');
  });

  it('`only` permits providers, not a step down', () => {
    expect(providersFor(tiers, { provider: { only: ['encl', 'anon'] } })).toEqual(['encl']);
  });

  it('starts from a weaker tier where a stronger one lacks a needed capability', () => {
    const able = oneModel(tee, { ...priv, capabilities: { tools: true } });
    expect(providersFor(able, {}, { needs: { tools: true } })).toEqual(['priv']);
  });

  it('under another sort, the first route decides what is weaker', () => {
    const measured = { encl: { ttftMs: 10 }, priv: { ttftMs: 20 } };
    const request = { provider: { sort: 'latency' } } as const;
    expect(providersFor(oneModel(tee, priv), request, { status: measuring(measured) })).toEqual(['encl']);
    const other = { encl: { ttftMs: 20 }, priv: { ttftMs: 10 } };
    expect(providersFor(oneModel(tee, priv), request, { status: measuring(other) })).toEqual(['priv', 'encl']);
  });
});

describe('context windows', () => {
  const windows = oneModel({ ...tee, input: 1, contextLength: 100 }, { ...priv, contextLength: 1000 });

  it('fails rather than move to a weaker tier, even to one that is allowed', () => {
    expect(refused(windows, {}, { needs: { promptTokens: 500 } })).toBe('context_too_large');
    const stated = { provider: { minimum_privacy: 'private' } } as const;
    expect(refused(windows, stated, { needs: { promptTokens: 500 } })).toBe('context_too_large');
    expect(providersFor(windows, stated, { needs: { promptTokens: 50 } })).toEqual(['encl', 'priv']);
  });

  it('fails so under the sorts `privacy` and `default` alike', () => {
    for (const provider_sort of ['privacy', 'default'] as const) {
      expect(refused(windows, {}, { needs: { promptTokens: 500 }, preferences: { provider_sort } })).toBe(
        'context_too_large',
      );
    }
  });

  it('skips what is too small within the tier', () => {
    const mixed = oneModel({ ...tee, contextLength: 100 }, { ...tee, provider: 'large', contextLength: 1000 });
    expect(providersFor(mixed, {}, { needs: { promptTokens: 500 } })).toEqual(['large']);
  });

  it('leaves out a weaker fallback that is too small', () => {
    const small = oneModel({ ...tee, contextLength: 1000 }, { ...priv, contextLength: 100 });
    const stated = { provider: { minimum_privacy: 'private' } } as const;
    expect(providersFor(small, stated, { needs: { promptTokens: 500 } })).toEqual(['encl']);
  });

  it('takes whichever holds the request where the sort does not go by tier', () => {
    const request = { provider: { sort: 'price' } } as const;
    expect(providersFor(windows, request, { needs: { promptTokens: 500 } })).toEqual(['priv']);
    expect(refused(windows, request, { needs: { promptTokens: 5000 } })).toBe('context_too_large');
  });
});

describe('penalties in a plan', () => {
  it('do not move a request to a weaker tier, not even where that is allowed', () => {
    const stated = { provider: { minimum_privacy: 'anonymous' } } as const;
    expect(providersFor(tiers, stated, { status: penalizing('encl') })).toEqual(['encl', 'priv', 'anon']);
    expect(providersFor(tiers, {}, { status: penalizing('encl') })).toEqual(['encl']);
  });

  it('do not decide from which tier a plan starts', () => {
    const request = { provider: { sort: 'price' } } as const;
    const catalog = oneModel(tee, priv);
    expect(providersFor(catalog, request)).toEqual(['priv', 'encl']);
    expect(providersFor(catalog, request, { status: penalizing('priv') })).toEqual(['encl', 'priv']);
    const cheapTee = oneModel({ ...tee, input: 1 }, { ...priv, input: 2 });
    expect(providersFor(cheapTee, request)).toEqual(['encl']);
    expect(providersFor(cheapTee, request, { status: penalizing('encl') })).toEqual(['encl']);
  });

  it('keep every route: all penalized are tried in normal order', () => {
    const catalog = oneModel({ ...tee, provider: 'b', input: 3 }, { ...tee, provider: 'a' });
    expect(providersFor(catalog, {}, { status: penalizing('a', 'b') })).toEqual(['a', 'b']);
    expect(providersFor(catalog, {}, { status: penalizing('a') })).toEqual(['b', 'a']);
  });

  it('leave an explicit `order` as it is written', () => {
    const provider = { order: ['encl', 'more'] };
    const catalog = oneModel(tee, { ...tee, provider: 'more' }, { ...tee, provider: 'rest' });
    expect(providersFor(catalog, { provider }, { status: penalizing('encl') })).toEqual(['encl', 'more', 'rest']);
  });
});
