import { describe, expect, it } from 'vitest';
import { matchesAny, matchesPattern } from './model-pattern.ts';

describe('a pattern of model ids', () => {
  it.each([
    ['acme/small', 'acme/small'],
    ['acme/*', 'acme/small'],
    ['acme/*', 'acme/'],
    ['*', '/auto'],
    ['*/small', 'acme/small'],
    ['acme/*-mini', 'acme/gpt-5-mini'],
    ['*gpt*mini*', 'acme/gpt-5-mini'],
    ['a**b', 'ab'],
    ['*ab*ab', 'abxab'],
    ['acme/small*', 'acme/small'],
  ])('%s matches %s', (pattern, id) => {
    expect(matchesPattern(pattern, id)).toBe(true);
  });

  it.each([
    ['acme/small', 'acme/smaller'],
    ['acme/small', 'ACME/small'],
    ['acme/*', 'beta/acme/small'],
    ['acme/*', 'acme'],
    ['*/small', 'acme/smaller'],
    // The two parts may not share a character.
    ['aba*ba', 'aba'],
    ['*ab*ab', 'xab'],
    ['a*b*c', 'acb'],
    ['acme/.*', 'acme/small'],
    ['acme/smal?', 'acme/small'],
    ['', 'acme/small'],
  ])('%s does not match %s', (pattern, id) => {
    expect(matchesPattern(pattern, id)).toBe(false);
  });

  it('with many stars takes no more than a moment, whatever the id', () => {
    expect(matchesPattern(`${'a*'.repeat(127)}b`, 'a'.repeat(256))).toBe(false);
  });

  it('is one of several', () => {
    expect(matchesAny(['beta/*', 'acme/small'], 'acme/small')).toBe(true);
    expect(matchesAny([], 'acme/small')).toBe(false);
  });
});
