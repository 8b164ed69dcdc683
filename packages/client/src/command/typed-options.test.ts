import { expect, it } from 'vitest';
import { typedOptions } from './typed-options.ts';

it('options with a value are typed in their order, each word for a shell, and others are left out', () => {
  const options = { e2ee: {}, map: {}, open: {}, model: {}, require: {} };
  const values = { require: '-odd', map: ['a*=b/c', 'd=e/f'], e2ee: true, open: false, model: undefined, print: true };
  expect(typedOptions(options, values, (word) => `<${word}>`)).toBe(
    ' <--e2ee> <--map> <a*=b/c> <--map> <d=e/f> <--require=-odd>',
  );
});
