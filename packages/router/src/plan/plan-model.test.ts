import { describe, expect, it } from 'vitest';
import {
  oneModel,
  penalizing,
  providersFor as providersOf,
  type RouteSketch,
  refused,
  type Surroundings,
} from '../testing/fixtures.ts';

// `decisions.test.ts` tests what `docs/reference/routing-by-example.md` shows. These tests are for the rest.

/** Plans in a workspace that sorts by privacy, unless a test says otherwise. */
const providersFor: typeof providersOf = (catalog, request, around: Surroundings = {}) =>
  providersOf(catalog, request, { ...around, preferences: { provider_sort: 'privacy', ...around.preferences } });

const tee: RouteSketch = { provider: 'encl', privacy: 'tee', input: 2 };
const priv: RouteSketch = { provider: 'priv', privacy: 'private', input: 1 };
const anon: RouteSketch = { provider: 'anon', privacy: 'anonymous', input: 0 };
const tiers = oneModel(anon, priv, tee);

describe('step-down', () => {
  it('keeps routes of the first one’s tier, and stronger ones', () => {
    expect(providersFor(oneModel(tee, { ...tee, provider: 'more' }))).toEqual(['encl', 'more']);
    expect(providersFor(oneModel(tee, priv), { provider: { sort: 'price' } })).toEqual(['priv', 'encl']);
    expect(providersFor(tiers, { provider: { order: ['anon'] } })).toEqual(['anon', 'encl', 'priv']);
  });

  it('does not take the workspace’s minimum for a request to step down', () => {
    expect(providersFor(tiers, {}, { preferences: { provider_minimum_privacy: 'private' } })).toEqual(['encl']);
  });

  it('caps fallbacks, not the first route', () => {
    const first = { provider: { order: ['anon'] } };
    expect(providersFor(tiers, first, { preferences: { fallback_floor: 'tee' } })[0]).toBe('anon');
  });

  it('`only` permits providers, not a step down', () => {
    expect(providersFor(tiers, { provider: { only: ['encl', 'anon'] } })).toEqual(['encl']);
  });
});

describe('context windows', () => {
  const windows = oneModel({ ...tee, input: 1, contextLength: 100 }, { ...priv, contextLength: 1000 });

  it('refuses rather than move to a weaker tier, under the sorts `privacy` and `default` alike', () => {
    for (const provider_sort of ['privacy', 'default'] as const) {
      expect(refused(windows, {}, { needs: { promptTokens: 500 }, preferences: { provider_sort } })).toBe(
        'context_too_large',
      );
    }
  });

  it('leaves out a weaker fallback that is too small', () => {
    const small = oneModel({ ...tee, contextLength: 1000 }, { ...priv, contextLength: 100 });
    const stated = { provider: { minimum_privacy: 'private' } } as const;
    expect(providersFor(small, stated, { needs: { promptTokens: 500 } })).toEqual(['encl']);
  });
});

describe('penalties in a plan', () => {
  it('do not decide from which tier a plan starts', () => {
    const request = { provider: { sort: 'price' } } as const;
    const catalog = oneModel(tee, priv);
    expect(providersFor(catalog, request)).toEqual(['priv', 'encl']);
    expect(providersFor(catalog, request, { status: penalizing('priv') })).toEqual(['encl', 'priv']);
    const cheapTee = oneModel({ ...tee, input: 1 }, { ...priv, input: 2 });
    expect(providersFor(cheapTee, request)).toEqual(['encl']);
    expect(providersFor(cheapTee, request, { status: penalizing('encl') })).toEqual(['encl']);
  });
});
