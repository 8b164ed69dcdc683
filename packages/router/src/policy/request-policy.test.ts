import {
  initialPreferences,
  type PrivacyClass,
  type ProviderPolicy,
  type ProviderPolicyObject,
  requestSorts,
} from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accepted, anyPolicy, refusalOf } from '../testing/fixtures.ts';
import { asksForE2ee, canonicalPolicy, readRequestPolicy } from './request-policy.ts';

const conflictOf = (policy: ProviderPolicyObject) => {
  const { type, param } = refusalOf(readRequestPolicy(policy));
  return { type, param };
};
const isAccepted = (policy: ProviderPolicyObject): boolean => readRequestPolicy(policy).ok;

describe('readRequestPolicy', () => {
  it('a string `X` means `{only: [X], allow_fallbacks: false}`', () => {
    expect(accepted(readRequestPolicy('acme/eu'))).toEqual({ only: ['acme/eu'], allow_fallbacks: false, unset: false });
  });

  it.each([undefined, null, {}, { order: undefined, sort: undefined }] as ProviderPolicy[])(
    '%j sends no provider settings, so that the sort of the workspace applies',
    (policy) => {
      expect(accepted(readRequestPolicy(policy)).unset).toBe(true);
    },
  );

  it.each([{ allow_fallbacks: true }, { order: [] }, { max_price: {} }, { require_parameters: false }])(
    '%j is a policy, though it demands nothing',
    (policy) => {
      expect(accepted(readRequestPolicy(policy)).unset).toBe(false);
    },
  );

  it.each([
    ['nitro', 'throughput'],
    ['floor', 'price'],
  ] as const)('the suffix `:%s` sorts by %s', (suffix, sort) => {
    expect(accepted(readRequestPolicy(undefined, suffix))).toMatchObject({ suffixSort: sort, unset: true });
    expect(accepted(readRequestPolicy({ sort }, suffix)).suffixSort).toBe(sort);
    expect(accepted(readRequestPolicy(undefined))).not.toHaveProperty('suffixSort');
  });

  it('refuses a suffix and a sort that contradict each other', () => {
    for (const sort of requestSorts.filter((each) => each !== 'price')) {
      expect(readRequestPolicy({ sort }, 'floor').ok, sort).toBe(false);
      expect(refusalOf(readRequestPolicy({ sort }, 'floor'))).toMatchObject({
        type: 'provider_policy_conflict',
        param: 'provider.sort',
      });
    }
  });
});

describe('readRequestPolicy on conflicts', () => {
  it('refuses a provider in both `only` and `ignore`', () => {
    expect(conflictOf({ only: ['bolt', 'acme'], ignore: ['acme'] })).toEqual({
      type: 'provider_policy_conflict',
      param: 'provider.ignore',
    });
    expect(isAccepted({ only: ['bolt'], ignore: ['acme'] })).toBe(true);
  });

  it('refuses an `order` entry that `only` excludes', () => {
    expect(conflictOf({ only: ['bolt'], order: ['acme'] })).toEqual({
      type: 'provider_policy_conflict',
      param: 'provider.order',
    });
    expect(isAccepted({ only: ['bolt', 'acme'], order: ['acme'] })).toBe(true);
  });

  it('refuses an `order` entry that `ignore` removes', () => {
    expect(conflictOf({ order: ['bolt', 'acme'], ignore: ['acme'] })).toEqual({
      type: 'provider_policy_conflict',
      param: 'provider.order',
    });
    expect(isAccepted({ order: ['bolt'], ignore: ['acme'] })).toBe(true);
  });

  it('a variant falls with the provider that is ignored', () => {
    expect(conflictOf({ only: ['acme/eu'], ignore: ['acme'] }).type).toBe('provider_policy_conflict');
    expect(conflictOf({ order: ['acme/eu'], ignore: ['acme'] }).type).toBe('provider_policy_conflict');
  });

  it('ignoring a variant leaves the rest of its provider, so it does not conflict', () => {
    expect(isAccepted({ only: ['acme'], ignore: ['acme/eu'] })).toBe(true);
    expect(isAccepted({ order: ['acme'], ignore: ['acme/eu'] })).toBe(true);
  });

  it('`order` and `only` may name a provider and its variant in either place', () => {
    expect(isAccepted({ only: ['acme'], order: ['acme/eu'] })).toBe(true);
    expect(isAccepted({ only: ['acme/eu'], order: ['acme'] })).toBe(true);
    expect(isAccepted({ only: ['acme/eu'], order: ['acme/us'] })).toBe(false);
  });

  it('a provider whose name merely begins alike is another one', () => {
    expect(isAccepted({ only: ['acmeco'], ignore: ['acme'] })).toBe(true);
    expect(isAccepted({ only: ['acmeco'], order: ['acme'] })).toBe(false);
  });

  it('`other` conflicts as any id does', () => {
    expect(isAccepted({ only: ['other'], ignore: ['other'] })).toBe(false);
    expect(isAccepted({ order: ['other'], ignore: ['other'] })).toBe(false);
    expect(isAccepted({ only: ['acme'], order: ['other'] })).toBe(false);
    expect(isAccepted({ only: ['other'], order: ['other'], ignore: ['acme'] })).toBe(true);
  });
});

describe('asksForE2ee', () => {
  it.each<[boolean, ProviderPolicy | null | undefined, PrivacyClass | undefined]>([
    [true, 'acme', undefined],
    [true, { only: ['acme'], allow_fallbacks: false }, undefined],
    [true, { minimum_privacy: 'e2ee' }, undefined],
    [true, undefined, 'e2ee'],
    [false, undefined, 'tee'],
    [false, null, undefined],
    [false, { only: ['acme'] }, undefined],
    [false, { order: ['acme'], allow_fallbacks: false }, 'tee'],
    [false, { only: ['acme', 'bolt'], allow_fallbacks: false }, undefined],
  ])('is %s of %j in a workspace whose least is %s', (asks, provider, minimum) => {
    const preferences = {
      ...initialPreferences,
      ...(minimum === undefined ? {} : { provider_minimum_privacy: minimum }),
    };
    expect(asksForE2ee(provider, preferences)).toBe(asks);
  });
});

describe('canonicalPolicy', () => {
  const same = (a: ProviderPolicy | null | undefined, b: ProviderPolicy | null | undefined): boolean =>
    canonicalPolicy(a) === canonicalPolicy(b);

  it('is equal for every way to write a pin, and for every way to send nothing', () => {
    expect(same('acme', { only: ['acme'], allow_fallbacks: false })).toBe(true);
    expect(same(undefined, {})).toBe(true);
    expect(same(undefined, null)).toBe(true);
    expect(same(undefined, { order: undefined, sort: undefined } as ProviderPolicy)).toBe(true);
  });

  it('does not depend on the order of keys, of `only` or of `ignore`, nor on repetitions there', () => {
    expect(same({ sort: 'price', max_attempts: 2 }, { max_attempts: 2, sort: 'price' })).toBe(true);
    expect(same({ only: ['a', 'b'] }, { only: ['b', 'a', 'b'] })).toBe(true);
    expect(same({ ignore: ['a', 'b'] }, { ignore: ['b', 'a'] })).toBe(true);
    expect(same({ max_price: { input: 1, output: 2 } }, { max_price: { output: 2, input: 1 } })).toBe(true);
  });

  it('is equal for a policy that writes out the defaults', () => {
    const defaults = { allow_fallbacks: true, sort: 'privacy', max_attempts: 3, require_parameters: false } as const;
    expect(same({ only: ['a'] }, { only: ['a'], order: [], ignore: [], max_price: {}, ...defaults })).toBe(true);
    expect(same('acme', { only: ['acme'], allow_fallbacks: false, max_attempts: 1, sort: 'privacy' })).toBe(true);
    // Writing them out is a policy of its own, which the workspace's sort does not apply to.
    expect(same(undefined, defaults)).toBe(false);
  });

  it('depends on the sequence of `order`', () => {
    expect(same({ order: ['a', 'b'] }, { order: ['b', 'a'] })).toBe(false);
  });

  it('tells nothing sent from a policy that demands nothing: only the first takes the sort of the workspace', () => {
    expect(same({}, { order: [] })).toBe(false);
    expect(same({}, { ignore: [] })).toBe(false);
    expect(same({ order: [] }, { ignore: [] })).toBe(true);
  });

  it.each<[ProviderPolicy, ProviderPolicy]>([
    ['acme', 'acme/eu'],
    ['acme', { only: ['acme'] }],
    [{ only: ['a'] }, { ignore: ['a'] }],
    [{ only: ['a'] }, { order: ['a'] }],
    [{ only: ['a', 'b'] }, { only: ['a,b'] }],
    [{ sort: 'price' }, { sort: 'latency' }],
    [{ minimum_privacy: 'tee' }, { minimum_privacy: 'private' }],
    [{ max_price: { input: 1 } }, { max_price: { output: 1 } }],
    [{ max_price: { input: 1 } }, { max_price: { input: 2 } }],
    [{ max_price: { input: 1, output: 1 } }, { max_price: { input: 1 } }],
    [{ max_price: { input: 0 } }, {}],
    [{ max_attempts: 1 }, { max_attempts: 2 }],
    [{ allow_fallbacks: false }, { allow_fallbacks: true }],
    [{ allow_fallbacks: false }, { require_parameters: false }],
    [{ require_parameters: true }, { require_parameters: false }],
  ])('tells %j from %j', (a, b) => {
    expect(same(a, b)).toBe(false);
  });

  it('is equal only for policies that route alike: whatever differs in it is read differently', () => {
    const meaning = (policy: ProviderPolicyObject): string => {
      const { order = [], only, ignore = [], max_price = {}, ...rest } = policy;
      const unset = Object.keys(policy).length === 0;
      const set = (ids: readonly string[]): string => [...new Set(ids)].sort().join();
      return JSON.stringify({
        ...{ unset, order, only: only && set(only), ignore: set(ignore), in: max_price.input, out: max_price.output },
        ...{ sort: rest.sort ?? 'privacy', floor: rest.minimum_privacy, strict: rest.require_parameters ?? false },
        // Without fallbacks, one attempt is left of however many.
        attempts: rest.allow_fallbacks === false ? 1 : (rest.max_attempts ?? 3),
      });
    };
    fc.assert(
      fc.property(anyPolicy, anyPolicy, fc.subarray(Object.keys(emptyPolicy)), (a, b, keys) => {
        // Copies a few fields from another policy, so that near misses are frequent.
        const changed = { ...a, ...Object.fromEntries(Object.entries(b).filter(([key]) => keys.includes(key))) };
        if (same(a, changed)) expect(meaning(changed)).toBe(meaning(a));
        if (JSON.stringify(a) === JSON.stringify(changed)) expect(same(a, changed)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

const emptyPolicy: Record<keyof ProviderPolicyObject, undefined> = {
  order: undefined,
  only: undefined,
  ignore: undefined,
  allow_fallbacks: undefined,
  sort: undefined,
  minimum_privacy: undefined,
  max_price: undefined,
  require_parameters: undefined,
  max_attempts: undefined,
};
