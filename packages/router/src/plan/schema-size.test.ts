import { describe, expect, it } from 'vitest';
import { expandedSchemaBytes } from './schema-size.ts';

describe('expandedSchemaBytes', () => {
  it('is at least the text of a schema without references', () => {
    const schema = {
      type: 'object',
      properties: { a: { enum: ['x', 1, true, null] }, ü: { items: [{ type: 'string' }] } },
    };
    expect(expandedSchemaBytes(schema)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(schema)));
    expect(expandedSchemaBytes(schema)).toBeLessThan(2 * Buffer.byteLength(JSON.stringify(schema)));
  });

  it('counts what is referred to as often as it is', () => {
    const item = { description: 'x'.repeat(1000) };
    const used = (times: number) => ({
      $defs: { item },
      properties: Object.fromEntries(Array.from({ length: times }, (_, at) => [`p${at}`, { $ref: '#/$defs/item' }])),
    });
    expect(expandedSchemaBytes(used(10))).toBeGreaterThan(11_000);
    expect(expandedSchemaBytes(used(10))).toBeLessThan(12_500);
  });

  it('tells what doubles twenty times over, without writing it out', () => {
    const levels = Array.from(
      { length: 21 },
      (_, at) => [`d${at}`, at === 20 ? { type: 'string' } : pair(at + 1)] as const,
    );
    const schema = { $defs: Object.fromEntries(levels), $ref: '#/$defs/d0' };
    expect(expandedSchemaBytes(schema)).toBeGreaterThan(2 ** 20);
  });

  it('ends where a schema refers to itself, to nothing, or elsewhere', () => {
    const tree = { $defs: { node: { properties: { next: { $ref: '#/$defs/node' }, up: { $ref: '#' } } } } };
    expect(expandedSchemaBytes(tree)).toBeLessThan(1000);
    expect(expandedSchemaBytes({ $ref: '#/a/b' })).toBeLessThan(100);
    expect(expandedSchemaBytes({ $ref: 'https://example.com/schema' })).toBeLessThan(100);
    expect(expandedSchemaBytes({ 'a/b': { x: 1 }, $ref: '#/a~1b' })).toBeGreaterThan(30);
  });
});

const pair = (next: number) => ({ properties: { l: { $ref: `#/$defs/d${next}` }, r: { $ref: `#/$defs/d${next}` } } });
