import { describe, expect, it } from 'vitest';
import { expandedSchemaBytes, hasReferences, unboundedBytes } from './prompt-size.ts';

const bytesOf = (schema: object): number => Buffer.byteLength(JSON.stringify(schema));
const item = { description: 'x'.repeat(1000) };

describe('expandedSchemaBytes', () => {
  it('is at least the text of a schema without references', () => {
    const schema = {
      type: 'object',
      properties: { a: { enum: ['x', 1, true, null] }, ü: { items: [{ type: 'string' }] }, $ref: { type: 'string' } },
      '"\n': '\u0001',
    };
    expect(expandedSchemaBytes(schema)).toBeGreaterThanOrEqual(bytesOf(schema));
    expect(expandedSchemaBytes(schema)).toBeLessThan(2 * bytesOf(schema));
  });

  it('counts a part as often as it is referred to', () => {
    const used = (times: number) => ({
      $defs: { item },
      properties: Object.fromEntries(Array.from({ length: times }, (_, at) => [`p${at}`, { $ref: '#/$defs/item' }])),
    });
    expect(expandedSchemaBytes(used(10))).toBeGreaterThan(11_000);
    expect(expandedSchemaBytes(used(10))).toBeLessThan(12_500);
  });

  it('measures a schema that doubles twenty times, without expanding it', () => {
    const pair = (next: number) => ({
      properties: { l: { $ref: `#/$defs/d${next}` }, r: { $ref: `#/$defs/d${next}` } },
    });
    const levels = (count: number) =>
      Array.from({ length: count + 1 }, (_, at) => [`d${at}`, at === count ? { type: 'string' } : pair(at + 1)]);
    const doubled = (count: number) => ({ $defs: Object.fromEntries(levels(count)), $ref: '#/$defs/d0' });
    expect(expandedSchemaBytes(doubled(20))).toBeGreaterThan(2 ** 20);
    expect(expandedSchemaBytes(doubled(20))).toBeLessThan(unboundedBytes);
    expect(expandedSchemaBytes(doubled(2000))).toBe(unboundedBytes);
  });

  it('follows a chain of references, which may be longer than a stack, as far as schemas go', () => {
    const chain = (count: number) => {
      const links = Array.from({ length: count }, (_, at) => [`d${at + 1}`, { $ref: `#/$defs/d${at}` }]);
      return { $defs: { ...Object.fromEntries(links.reverse()), d0: item } };
    };
    const count = 2000;
    // Each link is expanded together with all links below it.
    expect(expandedSchemaBytes(chain(count))).toBeGreaterThan((count * count * '{"$ref":"#/$defs/d0"}'.length) / 2);
    expect(expandedSchemaBytes(chain(count))).toBeLessThan(unboundedBytes);
    for (const more of [2001, 3000, 40_000]) expect(expandedSchemaBytes(chain(more))).toBe(unboundedBytes);
  });

  it.each([
    ['an escaped name', { 'a/b~c': item }, '#/a~1b~0c'],
    ['a name with percent signs, decoded', { $defs: { 'a b': item } }, '#/%24defs/a%20b'],
    ['a name with percent signs, as it is', { 'a%20b': item }, '#/a%20b'],
    ['an entry of a list', { anyOf: [{}, item] }, '#/anyOf/1'],
  ])('follows a reference to %s', (_, parts, $ref) => {
    expect(expandedSchemaBytes({ ...parts, properties: { a: { $ref }, b: { $ref } } })).toBeGreaterThan(3000);
  });

  it.each([
    ['the whole of it', { properties: { next: { $ref: '#' } } }],
    ['a part in itself', { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } } }],
    ['a circle of parts', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['a circle by percent signs', { $defs: { 'a b': { items: { $ref: '#/$defs/a%20b' } } } }],
    ['an anchor', { $defs: { a: { $anchor: 'item', ...item } }, $ref: '#item' }],
    ['a dynamic anchor', { $defs: { a: { $dynamicAnchor: 'item', ...item } }, $dynamicRef: '#item' }],
    ['the dynamic root', { $recursiveAnchor: true, items: { $recursiveRef: '#' } }],
    ['the address of a part', { $defs: { a: { $id: 'item.json', ...item } }, $ref: 'item.json' }],
    ['its own address', { $id: 'https://x.example/s', $defs: { a: item }, $ref: 'https://x.example/s#/$defs/a' }],
    [
      'a pointer that starts at a part',
      { items: { $id: 'b', $defs: { a: item }, $ref: '#/$defs/a' }, $defs: { a: {} } },
    ],
    ['the same in draft 4', { items: { id: 'b', definitions: { a: item }, $ref: '#/definitions/a' } }],
    ['an address elsewhere', { $ref: 'https://x.example/schema' }],
  ])('has no bound where a schema refers to %s', (_, schema) => {
    expect(expandedSchemaBytes(schema)).toBe(unboundedBytes);
    expect(hasReferences(JSON.stringify(schema))).toBe(true);
  });

  it.each([
    ['a reference to nothing', { $ref: '#/a/b' }],
    ['a name that objects inherit', { $ref: '#/constructor/prototype' }],
    ['a broken percent sign', { $ref: '#/%zz' }],
    ['an address of its own, and of parts, without references', { $id: 'a', items: { $id: 'b' } }],
    ['an address of its own', { $id: 'a', $defs: { a: {} }, $ref: '#/$defs/a' }],
    ['properties named as keywords', { properties: { $id: { type: 'string' }, id: {}, $ref: {} } }],
  ])('bounds a schema with %s', (_, schema) => {
    expect(expandedSchemaBytes(schema)).toBeLessThan(200);
  });
});

describe('hasReferences', () => {
  it('is not misled by strings', () => {
    expect(hasReferences(JSON.stringify({ description: '{"$ref": "#"} and "$ref":"#"' }))).toBe(false);
    expect(hasReferences(JSON.stringify({ a: [{ $ref: '#' }] }))).toBe(true);
  });
});
