import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repeatedName } from './repeated-name.ts';

describe('a repeated name in JSON', () => {
  it.each([
    ['{"a":1,"a":1}', 'a'],
    ['{"a":{"b":1},"c":{"b":1,"d":[],"b":2}}', 'c.b'],
    ['[{"a":1},{"b":[{"c":1,"c":2}]}]', '1.b.0.c'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a\\"}":"{", "x" : ["a\\"}"] , "a\\"}":null}', 'a"}'],
    ['{"":1,"":2}', ''],
  ])('is found in %s', (json, path) => {
    expect(() => JSON.parse(json)).not.toThrow();
    expect(repeatedName(json)).toBe(path);
  });

  it.each(['1', '"a"', '[]', '{}', '["a","a"]', '{"a":"a","b":["b"]}', '{"a":{"a":{"a":1}}}', '{"a":1,"A":2,"a ":3}'])(
    'is not found in %s',
    (json) => {
      expect(repeatedName(json)).toBeUndefined();
    },
  );

  it('is never found in what a program wrote', () => {
    fc.assert(fc.property(fc.json(), (json) => repeatedName(JSON.stringify(JSON.parse(json))) === undefined));
  });
});
