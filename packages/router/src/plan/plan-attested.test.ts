import type { Preferences, ProviderPolicy } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { aCatalog, aModel, contextOf, type RouteSketch } from '../testing/fixtures.ts';
import { planAttested } from './plan-attested.ts';

const vault: RouteSketch = { provider: 'vault', privacy: 'tee', input: 2 };
const cheap: RouteSketch = { provider: 'cheap', privacy: 'tee', input: 1 };
const sealed: RouteSketch = { provider: 'sealed', privacy: 'e2ee', input: 9 };
const plain: RouteSketch = { provider: 'plain', privacy: 'private', input: 0 };
const catalog = aCatalog(
  aModel('lab/both', [plain, vault, cheap, sealed]),
  aModel('lab/tee', [plain, vault, cheap]),
  aModel('lab/plain', [plain]),
  aModel('lab/vectors', [vault], 'embedding'),
);

function attested(model: string, provider?: ProviderPolicy, preferences: Partial<Preferences> = {}): string {
  const planned = planAttested({ model, provider }, contextOf(catalog, { preferences }));
  return planned.ok ? planned.value.providerId : planned.refusal.type;
}

describe('the enclave that evidence is of', () => {
  it.each<[string, string, ProviderPolicy | undefined, string]>([
    ['the end-to-end-encrypted one, where there is one', 'lab/both', undefined, 'sealed'],
    ['the one that is pinned', 'lab/both', 'vault', 'vault'],
    ['the first of the policy', 'lab/tee', { order: ['vault'] }, 'vault'],
    ['the cheapest, as requests would go', 'lab/tee', undefined, 'cheap'],
    ['one of a model for embeddings, too', 'lab/vectors', undefined, 'vault'],
    [
      'never one in clear, whatever the policy allows',
      'lab/tee',
      { sort: 'price', minimum_privacy: 'private' },
      'cheap',
    ],
  ])('is %s', (_, model, provider, expected) => {
    expect(attested(model, provider)).toBe(expected);
  });

  it.each<[string, string, ProviderPolicy | undefined, string]>([
    ['a model that nobody knows', 'lab/none', undefined, 'model_not_found'],
    ['a model without an enclave', 'lab/plain', undefined, 'no_provider_route_meets_privacy'],
    ['a provider without one', 'lab/both', 'plain', 'no_provider_route'],
    ['a floor above all of them', 'lab/tee', { minimum_privacy: 'e2ee' }, 'no_provider_route_meets_privacy'],
    ['a policy that contradicts itself', 'lab/tee', { only: ['vault'], ignore: ['vault'] }, 'provider_policy_conflict'],
  ])('is none for %s', (_, model, provider, refusal) => {
    expect(attested(model, provider)).toBe(refusal);
  });

  it('is never at a provider that the workspace has disabled', () => {
    expect(attested('lab/tee', undefined, { provider_ignore: ['cheap'] })).toBe('vault');
    expect(attested('lab/tee', 'cheap', { provider_ignore: ['cheap'] })).toBe('no_provider_route');
  });
});
