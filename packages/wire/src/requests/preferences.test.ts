import { describe, expect, it } from 'vitest';
import { initialPreferences, preferencesSchema } from './preferences.ts';
import { providerPolicySchema } from './provider-policy.ts';

describe('preferencesSchema', () => {
  it('accepts the preferences of a new workspace', () => {
    expect(preferencesSchema.parse(initialPreferences)).toEqual(initialPreferences);
    expect(initialPreferences).toMatchObject({
      provider_allow_fallbacks: true,
      provider_max_attempts: 3,
      provider_minimum_privacy: 'anonymous',
      provider_sort: 'default',
      provider_ignore: [],
      privacy_boundary: 'Standard',
      fallback_floor: null,
      auto: { tiers: 'Private', models: { mode: 'all' } },
      max_price: null,
    });
  });

  it('accepts the sort `default` in workspaces only', () => {
    for (const sort of ['default', 'privacy', 'price', 'latency', 'throughput']) {
      expect(preferencesSchema.safeParse({ ...initialPreferences, provider_sort: sort }).success).toBe(true);
      expect(providerPolicySchema.safeParse({ sort }).success).toBe(sort !== 'default');
    }
  });

  it.each([
    { provider_max_attempts: 0 },
    { provider_max_attempts: 4 },
    { provider_max_attempts: 1.5 },
    { provider_sort: 'best' },
    { provider_ignore: ['Acme'] },
    { provider_ignore: Array(201).fill('acme') },
    { provider_minimum_privacy: 'Private' },
    { privacy_boundary: 'private' },
    { fallback_floor: 'Private' },
    { max_price: { input: -1 } },
    { max_price: { image: 1 } },
    { auto: { ...initialPreferences.auto, strategy: 'random' } },
    { provider_order: ['acme'] },
  ])('refuses %j', (change) => {
    expect(preferencesSchema.safeParse({ ...initialPreferences, ...change }).success).toBe(false);
  });

  it('requires every field, so that a stored object has no defaults', () => {
    for (const name of Object.keys(initialPreferences)) {
      expect(preferencesSchema.safeParse({ ...initialPreferences, [name]: undefined }).success).toBe(false);
    }
  });
});
