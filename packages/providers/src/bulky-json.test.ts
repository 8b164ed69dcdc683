import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bulk, BulkyJson, bulkPosition, countPlainNumbers } from './bulky-json.ts';

interface Read {
  readonly root: unknown;
  readonly bulk: readonly (Pick<Bulk, 'kind' | 'isBase64'> & { readonly text: string })[];
}

/** Reads a text that arrives in pieces of this size. */
function read(text: string | Buffer, pieceBytes = Number.POSITIVE_INFINITY): Read {
  const bulk: Read['bulk'][number][] = [];
  const json = new BulkyJson(({ kind, pieces, isBase64 }) => {
    bulk.push({ kind, isBase64, text: Buffer.concat(pieces).toString('utf8') });
  });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) json.push(bytes.subarray(at, at + pieceBytes));
  return { root: json.end(), bulk };
}

/** Puts the bulk back into its place. */
function restore({ root, bulk }: Read): unknown {
  const back = (value: unknown): unknown => {
    const position = bulkPosition(value);
    const found = position === undefined ? undefined : bulk[position];
    if (found !== undefined) return JSON.parse(found.kind === 'string' ? `"${found.text}"` : found.text);
    if (Array.isArray(value)) return value.map(back);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, back(inner)]));
  };
  return back(root);
}

const long = 'QUJD'.repeat(200);

describe('JSON with bulk', () => {
  it('passes on long strings and arrays of numbers, and parses the rest', () => {
    const { root, bulk } = read(`{"a":"${long}","b":"short","c":[1,-2.5e3],"d":[{"e":[]}, "x"],"f":[[0.10]]}`, 7);
    expect(root).toEqual({ a: [0], b: 'short', c: [1], d: [{ e: [] }, 'x'], f: [[2]] });
    expect(bulk).toEqual([
      { kind: 'string', isBase64: true, text: long },
      { kind: 'numbers', isBase64: false, text: '[1,-2.5e3]' },
      { kind: 'numbers', isBase64: false, text: '[0.10]' },
    ]);
  });

  it('distinguishes base64 from other strings, wherever the pieces end', () => {
    for (const [text, expected] of [
      [`${long}QQ==`, true],
      [`${long}=A==`, false],
      [`${long}\\/`, false],
      [`${long} `, false],
      [`${long}-_`, false],
    ] as const) {
      for (const size of [1, 3, 64, 10_000])
        expect(read(`["${text}"]`, size).bulk[0]?.isBase64, text.slice(-4)).toBe(expected);
    }
  });

  it('rejects invalid JSON', () => {
    for (const text of ['', '{', `{"a":"${long}`, '[1,2', '{"a":[1,2]', '[1,2]]', '{"a" [1]}', '["\\', '[1,{"a":2}]'])
      expect(read(text).root, text).toBeUndefined();
  });

  it('neither loses nor adds bytes, whatever the lengths, escapes and pieces', () => {
    const longText = fc
      .string({ unit: fc.constantFrom('a', '"', '\\', '/', 'é', '\n', '[', ']', '{'), minLength: 1, maxLength: 12 })
      .map((text) => text.repeat(Math.ceil(250 / text.length)));
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0));
    const leaf = fc.oneof(
      fc.string({ unit: fc.constantFrom('x', '\u{1f642}', '\0', '\n', '"', '\\'), maxLength: 20 }),
      longText,
      fc.array(number, { maxLength: 5 }),
      fc.constantFrom(null, true, false),
    );
    const name = fc.string({ maxLength: 5 }).filter((text) => text !== '__proto__');
    const list = fc.array(leaf, { maxLength: 4 });
    const value = fc.dictionary(name, fc.oneof(leaf, number, list, fc.dictionary(name, leaf, { maxKeys: 3 })), {
      maxKeys: 4,
    });
    fc.assert(
      fc.property(value, fc.integer({ min: 1, max: 50 }), fc.boolean(), (whole, size, spaced) => {
        const text = JSON.stringify(whole, undefined, spaced ? 1 : undefined);
        expect(restore(read(text, size))).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps the bytes of numbers unchanged', () => {
    const text = '[0.1000000000000000055511151231257827, -0.0, 1E2,\n 1.50]';
    expect(read(`{"v":${text}}`, 5).bulk[0]?.text).toBe(text);
  });

  it('gives up on an endless answer without bulk', () => {
    const json = new BulkyJson(() => {});
    json.push(Buffer.from('['));
    for (let i = 0; i < 9 * 1024; i += 1) json.push(Buffer.from(`${'"x",'.repeat(256)}`));
    json.push(Buffer.from('"x"]'));
    expect(json.end()).toBeUndefined();
  });
});

describe('countPlainNumbers', () => {
  const count = (text: string) => countPlainNumbers(Buffer.from(text));

  it('counts the numbers of what `JSON.stringify` writes, unless one has an exponent', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ noNaN: true, min: -1e14, max: 1e14 }), { minLength: 1 }), (numbers) => {
        const text = JSON.stringify(numbers).slice(1, -1);
        expect(count(text)).toBe(text.includes('e') ? undefined : numbers.length);
      }),
    );
  });

  it('counts nothing that does not parse as finite numbers', () => {
    const pieces = fc.constantFrom(
      '[',
      ']',
      ',',
      '-',
      '.',
      '0',
      '7',
      '12',
      '00',
      'e',
      '+',
      ' ',
      '1e400',
      '9'.repeat(400),
      '"a"',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        const counted = count(text);
        if (counted === undefined) return;
        const parsed: unknown[] = JSON.parse(`[${text}]`);
        expect(parsed.length).toBe(counted);
        expect(parsed.every(Number.isFinite)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
