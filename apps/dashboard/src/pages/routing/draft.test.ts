import { initialPreferences, type Preferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { changedSettings, type Draft, draftOf, effectiveTiers, mergeChanges, readDraft } from './draft.ts';

const draft = draftOf(initialPreferences);

describe('a draft of preferences', () => {
  it('comes back as it was, prices included', () => {
    const preferences = { ...initialPreferences, max_price: { input: 5e-7, output: 2.5 } };
    expect(readDraft(draftOf(preferences))).toEqual({ preferences, problems: {} });
    expect(readDraft(draft)).toEqual({ preferences: initialPreferences, problems: {} });
  });

  it.each(['-1', '2,5', 'free', '1e3', '1000001', '5.'])('names a price that is none: %s', (typed) => {
    const { preferences, problems } = readDraft({ ...draft, maxInput: '3', maxOutput: typed });
    expect(preferences.max_price).toEqual({ input: 3 });
    expect(Object.keys(problems)).toEqual(['maxOutput']);
  });

  it('asks for a model where only some are allowed and none is chosen', () => {
    const only: Draft = { ...draft, auto: { ...draft.auto, models: { mode: 'only', ids: [] } } };
    expect(Object.keys(readDraft(only).problems)).toEqual(['models']);
  });

  it('shows the tiers that its boundary leaves', () => {
    const low = { ...draft, fallback_floor: 'anonymous' } as const;
    expect(effectiveTiers(low)).toEqual({ fallback: 'anonymous', auto: 'Private' });
    expect(effectiveTiers({ ...low, privacy_boundary: 'Maximum' })).toEqual({ fallback: 'tee', auto: 'Maximum' });
    expect(effectiveTiers({ ...draft, privacy_boundary: 'Private' })).toEqual({ fallback: null, auto: 'Private' });
  });
});

describe('what changed', () => {
  it('is named, and the order of ids is no change', () => {
    const before = { ...initialPreferences, provider_ignore: ['b', 'a'] };
    expect(changedSettings(before, { ...before, provider_ignore: ['a', 'b'] })).toEqual([]);
    expect(changedSettings(before, { ...before, provider_ignore: [], max_price: { input: 1 } })).toEqual([
      'providers',
      'price ceiling',
    ]);
  });

  it('goes over what somebody else saved meanwhile', () => {
    const now: Preferences = { ...initialPreferences, provider_sort: 'price', provider_ignore: ['acme'] };
    const after: Preferences = { ...initialPreferences, provider_sort: 'latency' };
    expect(mergeChanges(initialPreferences, after, now)).toEqual({ ...now, provider_sort: 'latency' });
  });
});
