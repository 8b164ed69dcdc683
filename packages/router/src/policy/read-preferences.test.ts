import { initialPreferences, type Preferences } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { accepted } from '../testing/fixtures.ts';
import { readPreferences } from './read-preferences.ts';

const kept: Preferences = {
  ...initialPreferences,
  provider_ignore: ['acme'],
  provider_max_attempts: 2,
  privacy_boundary: 'Private',
  fallback_floor: 'private',
  max_price: { input: 1 },
};

describe('preferences that are put', () => {
  it('replace all of the five fields, and keep what stands beside them', () => {
    expect(readPreferences({ provider_sort: 'price' }, kept)).toEqual({
      ok: true,
      value: {
        ...initialPreferences,
        provider_sort: 'price',
        privacy_boundary: 'Private',
        fallback_floor: 'private',
        max_price: { input: 1 },
      },
    });
  });

  it('replace what stands beside them where they name it', () => {
    const read = readPreferences({ max_price: null, fallback_floor: null, privacy_boundary: 'Standard' }, kept);
    expect(read).toMatchObject({ ok: true, value: { max_price: null, fallback_floor: null } });
  });

  it.each([
    [{ provider_sort: 'cheapest' }, 'provider_sort'],
    [{ provider_max_attempts: 4 }, 'provider_max_attempts'],
    [{ provider_ignore: ['No Provider'] }, 'provider_ignore.0'],
    [{ provider_minimum_privacy: 'secret' }, 'provider_minimum_privacy'],
    [{ auto: { strategy: 'balanced' } }, 'auto.tiers'],
    [{ privacy_boundary: 'Low' }, 'privacy_boundary'],
  ])('are refused where a field is malformed: %j', (sent, param) => {
    expect(() => readPreferences(sent)).toThrow(expect.objectContaining({ type: 'invalid_request', param }));
  });

  it('are refused with an unknown field', () => {
    expect(() => readPreferences({ provider_quantizations: [] })).toThrow(/Unknown field `provider_quantizations`/);
  });

  it('take null for a field that was left out, and for none where that is a value', () => {
    const nothing = { provider_sort: null, privacy_boundary: null, auto: null, max_price: null };
    expect(readPreferences(nothing, kept)).toEqual(readPreferences({ max_price: null }, kept));
  });

  it('refuse a new choice for fallbacks that is below the boundary', () => {
    expect(readPreferences({ privacy_boundary: 'Private', fallback_floor: 'anonymous' }, kept)).toMatchObject({
      refusal: { type: 'invalid_request', param: 'fallback_floor' },
    });
  });

  it('keep what was chosen for fallbacks and /auto when the boundary rises and falls', () => {
    const raised = accepted(readPreferences({ privacy_boundary: 'Maximum' }, kept));
    expect(raised).toMatchObject({ fallback_floor: 'private', auto: { tiers: 'Private' } });
    const again = accepted(readPreferences({ ...raised, privacy_boundary: 'Standard' }, raised));
    expect(again).toEqual({ ...raised, privacy_boundary: 'Standard' });
    const whole = { ...again, fallback_floor: 'private', privacy_boundary: 'Maximum' } as const;
    expect(readPreferences(whole, again)).toEqual({ ok: true, value: whole });
  });
});
