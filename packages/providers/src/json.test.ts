import { describe, expect, it } from 'vitest';
import { jsonBody, wellFormedJson } from './json.ts';

describe('JSON text for a provider', () => {
  it.each([
    ['a whole pair', '"\\ud83e\\udd94"', '"\\ud83e\\udd94"'],
    ['a first half', '"\\ud83e"', '"\\ufffd"'],
    ['a second half', '"\\udd94"', '"\\ufffd"'],
    ['halves in the wrong order', '"\\uDD94\\uD83E"', '"\\ufffd\\ufffd"'],
    ['two first halves and a second', '"\\ud83e\\ud83e\\udd94"', '"\\ufffd\\ud83e\\udd94"'],
    ['an escaped backslash before the letters of a half', '"\\\\ud83e"', '"\\\\ud83e"'],
    ['an escaped backslash before a half', '"\\\\\\ud83e"', '"\\\\\\ufffd"'],
    ['the letters of a first half before a second half', '"\\\\ud83d\\ude00"', '"\\\\ud83d\\ufffd"'],
    ['a first half before an escaped backslash', '"\\ud83d\\\\ude00"', '"\\ufffd\\\\ude00"'],
  ])('has %s as providers accept it', (_name, text, expected) => {
    expect(wellFormedJson(text)).toBe(expected);
    expect(JSON.parse(expected).isWellFormed()).toBe(true);
  });

  it('has U+FFFD for half of an emoji, in names and values', () => {
    expect(JSON.parse(jsonBody({ 'a\ud83e': ['b\udd94c', '🦔'] }))).toEqual({ 'a\ufffd': ['b\ufffdc', '🦔'] });
  });
});
