import { describe, expect, it } from 'vitest';
import { withExactSeed } from './exact-seed.ts';

const seedOf = (json: string): unknown =>
  (withExactSeed(JSON.parse(json), Buffer.from(json)) as { readonly seed?: unknown }).seed;

describe('withExactSeed', () => {
  it.each([
    ['{"seed":9223372036854775807}', 9223372036854775807n],
    ['{ "n" : 1, "seed" : -9223372036854775808 , "x": 2}', -9223372036854775808n],
    ['{"seed":9007199254740993}', 9007199254740993n],
    [String.raw`{"user":"\"seed\":9007199254740995","seed":9007199254740993}`, 9007199254740993n],
    ['{"tools":[{"seed":1234567890123456789}],"seed":9007199254740993}', 9007199254740993n],
    ['{"seed":7}', 7],
    ['{}', undefined],
  ])('reads %s', (json, seed) => {
    expect(seedOf(json)).toBe(seed);
  });

  it.each([
    ['two that round to one number', '{"seed":9007199254740993,"x":{"seed":9007199254740992}}'],
    ['an exponent', '{"seed":9e18}'],
    ['a name that is escaped', String.raw`{"s\u0065ed":9007199254740993}`],
  ])('leaves %s to the schema', (_, json) => {
    expect(seedOf(json)).toBe(JSON.parse(json).seed);
  });
});
