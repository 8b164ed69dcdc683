import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExactJson, withExactMembers } from './exact-json.ts';

/** A JSON value as text: as short as it can be, and with spaces and commas as another program writes them. */
interface Written {
  readonly short: string;
  readonly long: string;
}

const space = fc.constantFrom('', ' ', '\n', '\t', '  ');
const scalar = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.constantFrom('9007199254740993', '-9223372036854775808', '18446744073709551615', '0.5', 'true', 'null', '1e400'),
    fc
      .oneof(fc.string(), fc.constantFrom('\\', '"', 'a\\"10":1234567890123456789', '[{]}'))
      .map((text) => JSON.stringify(text)),
  )
  .map((short): Written => ({ short, long: short }));
const names = fc.uniqueArray(
  fc.oneof(fc.nat({ max: 120 }).map(String), fc.string(), fc.constantFrom('__proto__', '01', '-1')),
  {
    maxLength: 6,
  },
);

const { value: tree } = fc.letrec<{ value: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.tuple(fc.array(tie('value'), { maxLength: 5 }), space).map(
      ([items, gap]): Written => ({
        short: `[${items.map(({ short }) => short).join(',')}]`,
        long: `[${gap}${items.map(({ long }) => long).join(`${gap},${gap}`)}${gap}]`,
      }),
    ),
    fc.tuple(names, fc.array(tie('value'), { minLength: 6, maxLength: 6 }), space).map(
      ([given, values, gap]): Written => ({
        short: `{${given.map((name, at) => `${JSON.stringify(name)}:${values[at]?.short}`).join(',')}}`,
        long: `{${gap}${given.map((name, at) => `${JSON.stringify(name)}${gap}:${gap}${values[at]?.long}`).join(`,${gap}`)}}`,
      }),
    ),
  ),
}));

/** `JSON.parse` reads this number as infinite, and no schema has it. It stays as it is. */
const infinite = /1e400/g;

describe('parseExactJson', () => {
  it('gives what JSON.stringify writes as the text was: every digit, and every name in its place', () => {
    fc.assert(
      fc.property(tree, ({ short, long }) => {
        const inList = parseExactJson(`[${long}]`);
        expect(JSON.stringify(inList)).toBe(`[${short.replace(infinite, 'null')}]`);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives values with the structure that JSON.parse gives', () => {
    fc.assert(
      fc.property(tree, ({ long }) => {
        expect(JSON.parse(JSON.stringify(parseExactJson(long)))).toEqual(JSON.parse(long.replace(infinite, 'null')));
      }),
    );
  });

  it('keeps the last of two values of a name, as JSON.parse does', () => {
    expect(JSON.stringify(parseExactJson('{"b":1,"10":2,"b":9007199254740993}'))).toBe('{"b":9007199254740993,"10":2}');
  });

  it.each(['', '{', '[1,]', '{"10":}', '9007199254740993 1'])('has nothing for %j, which is no JSON', (text) => {
    expect(parseExactJson(text)).toBeUndefined();
  });

  it('reads as JSON.parse does once its budget is spent, or if the text nests too deeply', () => {
    const budget = { values: 3 };
    expect(JSON.stringify(parseExactJson('[9007199254740993]', budget))).toBe('[9007199254740993]');
    expect(JSON.stringify(parseExactJson('[9007199254740993]', budget))).toBe('[9007199254740992]');
    const deep = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    expect(() => parseExactJson(deep)).not.toThrow();
  });
});

describe('withExactMembers', () => {
  const read = (text: string): string =>
    JSON.stringify(
      withExactMembers(
        JSON.parse(text),
        () => text,
        (name) => name === 'tools' || name === 'seed',
      ),
    );

  it.each([
    '{"model":"x","tools":[{"enum":[9007199254740993]}],"seed":9223372036854775807}',
    String.raw`{"user":"\"seed\":9007199254740995 }]","tools":{"b":1,"2":[],"10":{}},"seed":1}`,
    '{"seed":-9223372036854775808}',
  ])('writes %s as it was', (text) => {
    expect(read(text)).toBe(text);
  });

  it('reads as JSON.parse does what stands among too many other values', () => {
    const many = `{"input":[${'1,'.repeat(300_000)}1],"seed":9007199254740993}`;
    expect(read(many)).toBe(many.replace('740993', '740992'));
  });

  it('reads a name in any spelling', () => {
    expect(read(String.raw`{"s\u0065ed":9007199254740993}`)).toBe('{"seed":9007199254740993}');
  });

  it('leaves members of other names to JSON.parse, and does not read the text if nothing changed', () => {
    expect(read('{"other":9007199254740993,"seed":9007199254740993}')).toBe(
      '{"other":9007199254740992,"seed":9007199254740993}',
    );
    const body = { tools: [{ minimum: 1, list: [1, 2, 3] }], seed: 7, other: { 10: 1 } };
    const unread = (): string => expect.fail('the text was read');
    expect(withExactMembers(body, unread, (name) => name !== 'other')).toBe(body);
  });
});
