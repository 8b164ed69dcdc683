import { initialPreferences, type Preferences, parseModelReference } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keptBy } from '../plan/eligibility.ts';
import { scopeOf } from '../plan/narrow-preferences.ts';
import { namesOf } from '../plan/plan-request.ts';
import { modelFacts } from '../plan/route-facts.ts';
import { anyBodies, anyCatalog, anyPreferences, anyRequest, contextOf } from '../testing/fixtures.ts';
import { permitsAllOf } from './permits-all-of.ts';
import { readRequestPolicy } from './request-policy.ts';

const prefer = (changes: Partial<Preferences>): Preferences => ({ ...initialPreferences, ...changes });

describe('preferences that permit all that others permitted', () => {
  it.each<[string, Partial<Preferences>, Partial<Preferences>]>([
    ['the same', {}, {}],
    ['a lower boundary', { privacy_boundary: 'Private' }, { privacy_boundary: 'Standard' }],
    ['a lower minimum', { provider_minimum_privacy: 'tee' }, { provider_minimum_privacy: 'private' }],
    ['a lower floor for fallbacks', { fallback_floor: 'tee' }, { fallback_floor: 'private' }],
    ['more attempts', { provider_max_attempts: 2 }, { provider_max_attempts: 3 }],
    ['fallbacks', { provider_allow_fallbacks: false }, { provider_allow_fallbacks: true }],
  ])('%s', (_, before, after) => {
    expect(permitsAllOf(prefer(before), prefer(after))).toBe(true);
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    expect(permitsAllOf(prefer(after), prefer(before))).toBe(isSame);
  });

  it.each<[string, Partial<Preferences>, Partial<Preferences>?]>([
    ['another sort', { provider_sort: 'price' }],
    ['a floor for fallbacks where there was none', { fallback_floor: 'anonymous' }],
    ['another strategy of `/auto`', { auto: { ...initialPreferences.auto, strategy: 'cheapest' } }],
    ['one looser and one stricter field', { privacy_boundary: 'Standard', provider_ignore: ['acme'] }],
    // Their stronger routes would come first, and a plan does not step down from them.
    ['a provider that is enabled again', {}, { provider_ignore: ['acme'] }],
    ['a higher ceiling', {}, { max_price: { input: 1 } }],
  ])('are not proven by %s', (_, after, before = {}) => {
    expect(permitsAllOf(prefer(before), prefer(after))).toBe(false);
  });

  it('exclude no route that a request could use before', () => {
    let routes = 0;
    const property = fc.property(
      ...([anyCatalog, anyPreferences, anyPreferences, anyRequest, anyBodies(2)] as const),
      (catalog, before, other, request, bodies) => {
        // Two random preferences are rarely comparable, so take of the other what is looser.
        let after = before;
        for (const field of Object.keys(before) as (keyof Preferences)[]) {
          const next = { ...after, [field]: other[field] };
          if (permitsAllOf(before, next)) after = next;
        }
        const suffixes = namesOf(request).map((name) => parseModelReference(name).suffix);
        fc.pre(suffixes.every((suffix) => readRequestPolicy(request.provider, suffix).ok));
        for (const needs of bodies) {
          const allowedUnder = (preferences: Preferences) => {
            const context = contextOf(catalog, { preferences });
            const scopes = namesOf(request).map((name) => scopeOf(name, request, needs, context));
            return scopes.flatMap(({ models, demands }) =>
              models.flatMap((model) => keptBy(demands, modelFacts(model)).map(({ route }) => route.id)),
            );
          };
          const now = new Set(allowedUnder(after));
          for (const route of allowedUnder(before)) {
            routes += 1;
            expect(now.has(route), route).toBe(true);
          }
        }
      },
    );
    fc.assert(property, { numRuns: 1500 });
    expect(routes).toBeGreaterThan(500);
  });
});
