import { describe, expect, it } from 'vitest';
import { baseProviderId, matchesProvider } from './provider-id.ts';

describe('matchesProvider', () => {
  it.each([
    ['acme', 'acme'],
    ['acme', 'acme/eu'],
    ['acme/eu', 'acme/eu'],
    ['other', 'other'],
  ])('`%s` names `%s`', (entry, provider) => {
    expect(matchesProvider(entry, provider)).toBe(true);
  });

  it.each([
    ['acme', 'acmeco', 'a longer name is another provider'],
    ['acme', 'acme-eu', 'a hyphen does not make a variant'],
    ['acme/eu', 'acme', 'a variant does not name its provider'],
    ['acme/eu', 'acme/us', 'one variant does not name another'],
    ['acme/e', 'acme/eu', 'a region is matched whole'],
    ['eu', 'acme/eu', 'a region alone names nobody'],
    ['acmeco', 'acme', 'a prefix of a name is another provider'],
  ])('`%s` does not name `%s`: %s', (entry, provider) => {
    expect(matchesProvider(entry, provider)).toBe(false);
  });
});

describe('baseProviderId', () => {
  it('is the provider that a variant belongs to, and a provider itself', () => {
    expect(baseProviderId('acme/eu')).toBe('acme');
    expect(baseProviderId('acme')).toBe('acme');
  });
});
