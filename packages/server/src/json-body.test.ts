import { ServiceError } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { areJsonTextsWithinBounds, isJsonWithinBounds, maxJsonWeight, readJsonBody } from './json-body.ts';

const list = (entry: string, count: number): string => `{"a":[${Array(count).fill(entry).join(',')}]}`;
const refusal = (text: string): ServiceError | undefined => {
  try {
    readJsonBody(Buffer.from(text));
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
};

describe('readJsonBody', () => {
  it('accepts a byte order mark before the JSON, and nowhere else', () => {
    expect(readJsonBody(Buffer.from('\ufeff{"a":1}'))).toEqual({ a: 1 });
    expect(refusal('\ufeff\ufeff{"a":1}')?.type).toBe('invalid_request');
    expect(refusal('{\ufeff"a":1}')?.type).toBe('invalid_request');
  });

  it.each([
    ['empty lists', list('[]', 112_000)],
    ['objects', list('{"a":1}', 40_000)],
    ['texts', list('""', 112_000)],
    ['switches', list('true', 1_000_002)],
    ['names', `{${Array.from({ length: 41_000 }, (_, at) => `"k${at}":0`).join(',')}}`],
    ['numbers', list('7', 1_000_002)],
    ['lists in lists', `{"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}`],
    ['lists that never end', '['.repeat(1e6)],
    ['objects in objects', '{"a":'.repeat(1e6)],
    ['objects in objects, in the fewest bytes', `${'{"":'.repeat(32_000)}0${'}'.repeat(32_000)}`],
    ['values behind a long text', `{"a":"${'x'.repeat(1e6)}","b":${list('[]', 112_000)}}`],
  ])('rejects too many %s with a clear 400', (_, text) => {
    const error = refusal(text);
    expect(error?.type).toBe('invalid_request');
    expect(error?.message).toMatch(/too many JSON values/);
  });

  it.each([
    ['a long text', JSON.stringify({ a: 'x, [y]: {"z"}, '.repeat(200_000) })],
    ['text full of quotes', JSON.stringify({ a: '"'.repeat(500_000), b: '\\'.repeat(500_000) })],
    ['300,000 tokens', list('12345', 300_000)],
    ['300,000 tokens with spaces', JSON.stringify({ a: Array(300_000).fill(-7) }).replaceAll(',', ', ')],
    ['4096 messages', JSON.stringify({ messages: Array(4096).fill({ role: 'user', content: 'x'.repeat(500) }) })],
  ])('reads %s', (_, text) => {
    expect(readJsonBody(Buffer.from(text))).toEqual(JSON.parse(text));
  });

  it.each([
    ['', /empty/],
    ['{', /not valid JSON/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
  ])('rejects %j', (text, message) => {
    expect(refusal(text)?.message).toMatch(message);
  });
});

describe('isJsonWithinBounds', () => {
  /**
   * Computes the weight of a parsed value from the documented weights. A list of n entries has n - 1 commas, each of
   * weight 1.
   */
  const weightOf = (value: unknown): number => {
    if (typeof value === 'string') return 8;
    if (typeof value !== 'object' || value === null) return 0;
    const entries = Object.values(value);
    const names = Array.isArray(value) ? 0 : entries.length;
    return entries.reduce<number>(
      (sum, child) => sum + weightOf(child),
      8 + names * 24 + Math.max(0, entries.length - 1),
    );
  };

  it('agrees with a count of the parsed values, whatever the texts contain', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', ',', '[', '{', ':', 'x') }));
    const { value: anyJson } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.array(tie('value')), tie('object')),
      object: fc.dictionary(text, tie('value')),
    }));
    const filling = fc.oneof(text, fc.constant('x'.repeat(100)), fc.constant('"'.repeat(30)));
    fc.assert(
      fc.property(anyJson, filling, fc.nat(3), (value, filler, offset) => {
        // Two lists surround the value and the fillers. Each filler adds one comma: between two fillers, or after the
        // value.
        const room = Math.floor((maxJsonWeight - weightOf(value) - 8 - 8) / 9);
        const filled = (count: number): Buffer =>
          Buffer.from(' '.repeat(offset) + JSON.stringify([value, Array(count).fill(filler)])).subarray(offset);
        expect(isJsonWithinBounds(filled(room))).toBe(true);
        expect(isJsonWithinBounds(filled(room + 1))).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});

describe('areJsonTextsWithinBounds', () => {
  it('adds up texts that are weighed separately', () => {
    const half = list('[]', 56_000);
    expect(areJsonTextsWithinBounds([half])).toBe(true);
    expect(areJsonTextsWithinBounds([half, half])).toBe(false);
    // An unmatched quotation mark does not hide any of the following texts.
    expect(areJsonTextsWithinBounds(['"', half, half])).toBe(false);
    expect(areJsonTextsWithinBounds(Array(20).fill(JSON.stringify({ a: '[],'.repeat(10_000) })))).toBe(true);
    expect(areJsonTextsWithinBounds(Array(12_000).fill(list('[]', 10)))).toBe(false);
    expect(areJsonTextsWithinBounds([])).toBe(true);
  });
});
