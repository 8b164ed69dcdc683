import { describe, expect, it } from 'vitest';
import { PartialCalls } from './partial-calls.ts';

const gather = (...parts: object[]) => {
  const calls = new PartialCalls();
  return [...parts.flatMap((part) => calls.take({ ...part }, undefined)), ...calls.end()].map(({ called }) => ({
    name: called.name,
    args: JSON.parse(JSON.stringify(called.args)),
  }));
};
const part = (jsonPath: string, value: object, willContinue = true) => ({
  partialArgs: [{ jsonPath, ...value }],
  willContinue,
});

describe('a function call in parts', () => {
  it('becomes one call with all its arguments', () => {
    expect(
      gather(
        { name: 'light', willContinue: true },
        part('$.level', { numberValue: 50 }),
        part('$.color', { stringValue: 'wa', willContinue: true }),
        part('$.color', { stringValue: 'rm' }),
        part('$.rooms[0].name', { stringValue: 'attic' }),
        part("$.rooms[1]['name']", { stringValue: 'hall' }),
        part('$.on', { boolValue: false }),
        part('$.until', { nullValue: null }),
        {},
      ),
    ).toEqual([
      {
        name: 'light',
        args: { level: 50, color: 'warm', rooms: [{ name: 'attic' }, { name: 'hall' }], on: false, until: null },
      },
    ]);
  });

  it('ends with the next call, or with the answer', () => {
    expect(
      gather(
        { name: 'a', willContinue: true },
        part('$.x', { numberValue: 1 }),
        { name: 'b', args: { y: 2 } },
        {
          name: 'c',
          ...part('$.z', { numberValue: 3 }),
        },
      ),
    ).toEqual([
      { name: 'a', args: { x: 1 } },
      { name: 'b', args: { y: 2 } },
      { name: 'c', args: { z: 3 } },
    ]);
  });

  it('treats `__proto__` and the like as plain keys', () => {
    const [call] = gather({ name: 'a', ...part('$.__proto__.polluted', { boolValue: true }, false) });
    expect(Object.hasOwn(call?.args ?? {}, '__proto__')).toBe(true);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
