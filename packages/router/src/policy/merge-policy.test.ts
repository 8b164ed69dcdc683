import {
  type Boundary,
  boundaryClass,
  comparePrivacy,
  initialPreferences as initial,
  type PrivacyClass,
} from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demandsOf } from '../plan/demands.ts';
import { eligibleRoutes } from '../plan/eligibility.ts';
import { modelFacts } from '../plan/route-facts.ts';
import { accepted, anyCatalog, anyNeeds, anyPolicy, anyPreferences, merged, theModel } from '../testing/fixtures.ts';
import { mergePolicy } from './merge-policy.ts';
import { readRequestPolicy } from './request-policy.ts';

describe('mergePolicy on providers', () => {
  it('adds the request’s `ignore` to the workspace’s disabled providers', () => {
    expect(merged({ ignore: ['bolt'] }, { provider_ignore: ['acme'] }).ignore).toEqual(['acme', 'bolt']);
    expect(merged({}, { provider_ignore: ['acme'] }).ignore).toEqual(['acme']);
  });

  it('naming a disabled provider does not enable it', () => {
    expect(merged({ only: ['acme'], order: ['acme'] }, { provider_ignore: ['acme'] }).ignore).toContain('acme');
  });

  it('takes `only` and `order` from the request alone', () => {
    expect(merged({ only: ['acme', 'bolt'], order: ['bolt'] })).toMatchObject({
      only: ['acme', 'bolt'],
      order: ['bolt'],
    });
    expect(merged()).toMatchObject({ only: undefined, order: [] });
  });
});

describe('mergePolicy on attempts', () => {
  it.each([
    [{}, {}, 3],
    [{ max_attempts: 2 }, {}, 2],
    [{ max_attempts: 3 }, { provider_max_attempts: 2 }, 2],
    [{}, { provider_max_attempts: 2 }, 2],
    [{ allow_fallbacks: false, max_attempts: 3 }, {}, 1],
    [{ allow_fallbacks: true, max_attempts: 3 }, { provider_allow_fallbacks: false }, 1],
    [{}, { provider_allow_fallbacks: false }, 1],
    ['acme', {}, 1],
  ])('%j under %j allows %i', (policy, preferences, attempts) => {
    expect(merged(policy, preferences).maxAttempts).toBe(attempts);
  });
});

describe('mergePolicy on sort', () => {
  it('no policy at all takes the sort of the workspace', () => {
    expect(merged(undefined, { provider_sort: 'latency' }).sort).toBe('latency');
    expect(merged({}, { provider_sort: 'default' }).sort).toBe('default');
  });

  it('any other policy without a sort sorts by privacy', () => {
    expect(merged({ max_attempts: 2 }, { provider_sort: 'latency' }).sort).toBe('privacy');
    expect(merged('acme', { provider_sort: 'price' }).sort).toBe('privacy');
  });

  it('takes the sort of the request, and that of a suffix before both', () => {
    expect(merged({ sort: 'throughput' }, { provider_sort: 'price' }).sort).toBe('throughput');
    const nitro = accepted(readRequestPolicy({ max_attempts: 2 }, 'nitro'));
    expect(mergePolicy({ ...initial, provider_sort: 'price' }, nitro).sort).toBe('throughput');
    const floor = accepted(readRequestPolicy(undefined, 'floor'));
    expect(mergePolicy({ ...initial, provider_sort: 'latency' }, floor).sort).toBe('price');
  });
});

describe('mergePolicy on privacy', () => {
  it.each([
    ['Standard', 'anonymous'],
    ['Private', 'private'],
    ['Maximum', 'tee'],
  ] as const)('the boundary %s is %s', (privacy_boundary, boundary) => {
    expect(merged({}, { privacy_boundary })).toMatchObject({ boundary, floor: boundary });
  });

  it('the floor is the strongest of boundary, workspace minimum and request minimum', () => {
    const floor = (own: PrivacyClass, workspace: PrivacyClass, boundary: Boundary) =>
      merged({ minimum_privacy: own }, { provider_minimum_privacy: workspace, privacy_boundary: boundary }).floor;
    expect(floor('anonymous', 'anonymous', 'Standard')).toBe('anonymous');
    expect(floor('private', 'anonymous', 'Standard')).toBe('private');
    expect(floor('anonymous', 'private', 'Standard')).toBe('private');
    expect(floor('private', 'anonymous', 'Maximum')).toBe('tee');
    expect(floor('tee', 'private', 'Standard')).toBe('tee');
  });

  it.each(['price', 'latency', 'throughput'] as const)(
    'a sort by %s without `minimum_privacy` carries the floor `private`, from request or workspace',
    (sort) => {
      for (const policy of [merged({ sort }), merged(undefined, { provider_sort: sort })]) {
        expect(policy).toMatchObject({ floor: 'private', floorCarriedBySort: true, boundary: 'anonymous' });
      }
      expect(merged({ sort, minimum_privacy: 'anonymous' })).toMatchObject({
        floor: 'anonymous',
        floorCarriedBySort: false,
      });
    },
  );

  it.each(['nitro', 'floor'] as const)('the suffix `:%s` carries the floor `private`', (suffix) => {
    const policy = mergePolicy(initial, accepted(readRequestPolicy(undefined, suffix)));
    expect(policy).toMatchObject({ floor: 'private', floorCarriedBySort: true });
  });

  it('sorting by privacy carries no floor', () => {
    expect(merged({ sort: 'privacy' })).toMatchObject({ floor: 'anonymous', floorCarriedBySort: false });
    expect(merged({}, { provider_sort: 'default' })).toMatchObject({ floor: 'anonymous', floorCarriedBySort: false });
  });

  it('does not blame the sort for a floor that others demand', () => {
    expect(merged({ sort: 'price' }, { provider_minimum_privacy: 'private' }).floorCarriedBySort).toBe(false);
    expect(merged({ sort: 'price' }, { privacy_boundary: 'Maximum' })).toMatchObject({
      floor: 'tee',
      floorCarriedBySort: false,
    });
  });

  it('remembers a minimum that the request states, which permits a step down to it', () => {
    expect(merged({ minimum_privacy: 'private' }).statedMinimum).toBe('private');
    expect(merged({ sort: 'price' }, { provider_minimum_privacy: 'private' }).statedMinimum).toBeUndefined();
  });

  it('a fallback floor below the boundary is raised to it', () => {
    expect(merged({}, { fallback_floor: null }).fallbackFloor).toBeUndefined();
    expect(merged({}, { fallback_floor: 'private' }).fallbackFloor).toBe('private');
    expect(merged({}, { fallback_floor: 'anonymous', privacy_boundary: 'Maximum' }).fallbackFloor).toBe('tee');
  });
});

describe('mergePolicy on prices and parameters', () => {
  it('the lower ceiling of the two holds, each side by itself', () => {
    const both = { input: 2, output: 5 };
    expect(merged({ max_price: { input: 3, output: 4 } }, { max_price: both }).maxPrice).toEqual({
      input: 2_000_000,
      output: 4_000_000,
    });
    expect(merged({ max_price: { input: 1 } }, { max_price: both }).maxPrice).toEqual({
      input: 1_000_000,
      output: 5_000_000,
    });
    expect(merged({}, { max_price: both }).maxPrice).toEqual({ input: 2_000_000, output: 5_000_000 });
  });

  it('limits nothing without a ceiling', () => {
    expect(merged().maxPrice).toEqual({ input: Number.POSITIVE_INFINITY, output: Number.POSITIVE_INFINITY });
  });

  it('takes a ceiling of 0 for a ceiling', () => {
    expect(merged({ max_price: { input: 0 } }).maxPrice.input).toBe(0);
  });

  it('rounds a ceiling finer than any price down, never up', () => {
    expect(merged({ max_price: { input: 0.1234569, output: 0.0000009 } }).maxPrice).toEqual({
      input: 123_456,
      output: 0,
    });
  });

  it('requires parameters only where the request says so', () => {
    expect(merged({ require_parameters: true }).requireParameters).toBe(true);
    expect(merged({ require_parameters: false }).requireParameters).toBe(false);
    expect(merged().requireParameters).toBe(false);
  });
});

describe('mergePolicy never loosens', () => {
  const noLess = (a: PrivacyClass, b: PrivacyClass | undefined): boolean =>
    b === undefined || comparePrivacy(a, b) >= 0;

  it('whatever workspace and request say, the merged policy demands at least what each of them does', () => {
    fc.assert(
      fc.property(anyPreferences, anyPolicy, (preferences, policy) => {
        const request = readRequestPolicy(policy);
        fc.pre(request.ok);
        const result = mergePolicy(preferences, accepted(request));
        expect(result.maxAttempts).toBeLessThanOrEqual(preferences.provider_max_attempts);
        expect(result.maxAttempts).toBeLessThanOrEqual(policy.max_attempts ?? 3);
        expect(result.maxAttempts).toBeGreaterThanOrEqual(1);
        if (!preferences.provider_allow_fallbacks || policy.allow_fallbacks === false) {
          expect(result.maxAttempts).toBe(1);
        }
        expect(result.boundary).toBe(boundaryClass[preferences.privacy_boundary]);
        for (const demand of [result.boundary, preferences.provider_minimum_privacy, policy.minimum_privacy]) {
          expect(noLess(result.floor, demand)).toBe(true);
        }
        if (preferences.fallback_floor !== null) {
          expect(noLess(result.fallbackFloor ?? 'anonymous', preferences.fallback_floor)).toBe(true);
        }
        for (const side of ['input', 'output'] as const) {
          for (const ceiling of [preferences.max_price?.[side], policy.max_price?.[side]]) {
            if (ceiling !== undefined) expect(result.maxPrice[side]).toBeLessThanOrEqual(ceiling * 1e6);
          }
        }
        expect(result.ignore).toEqual(
          expect.arrayContaining([...preferences.provider_ignore, ...(policy.ignore ?? [])]),
        );
        expect(result.only).toEqual(policy.only);
      }),
      { numRuns: 300 },
    );
  });

  it('a request makes no route eligible that is not eligible without it', () => {
    let narrowed = 0;
    fc.assert(
      fc.property(anyCatalog, anyPreferences, anyPolicy, anyNeeds, (catalog, preferences, policy, needs) => {
        const model = catalog.models.get(theModel);
        const request = readRequestPolicy(policy);
        fc.pre(model !== undefined && request.ok);
        if (model === undefined) return;
        const facts = modelFacts(model);
        const own = eligibleRoutes(model, facts, demandsOf(mergePolicy(preferences, accepted(request)), needs));
        // The workspace's sort would carry a floor. A request with its own provider settings does not have that floor.
        const without = mergePolicy({ ...preferences, provider_sort: 'privacy' }, { unset: true });
        const all = eligibleRoutes(model, facts, demandsOf(without, needs));
        const eligible = all.ok ? all.value : [];
        if (own.ok) {
          expect(eligible).toEqual(expect.arrayContaining([...own.value]));
          if (own.value.length < eligible.length) narrowed += 1;
        }
      }),
      { numRuns: 300 },
    );
    expect(narrowed).toBeGreaterThan(0);
  });
});
