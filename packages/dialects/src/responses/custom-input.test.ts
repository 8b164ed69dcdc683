import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CustomInputReader, customInput } from './custom-input.ts';

/** Reads arguments in these pieces. Returns the text that the reader gave early and in total, and the whole input. */
function read(pieces: readonly string[]): { readonly given: string; readonly early: string; readonly input: string } {
  const reader = new CustomInputReader();
  const early = pieces.map((piece) => reader.push(piece)).join('');
  const { input, rest } = reader.end(false);
  return { given: early + rest, early, input };
}

describe('the input of a custom tool', () => {
  it('arrives decoded, whole and in pieces, wherever its arguments are cut', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.array(fc.nat(), { maxLength: 8 }),
        fc.boolean(),
        (text, cuts, spaced) => {
          const whole = JSON.stringify({ input: text }, undefined, spaced ? 1 : 0);
          const at = [0, ...cuts.map((place) => place % (whole.length + 1)).sort((a, b) => a - b), whole.length];
          const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end));
          expect(read(pieces)).toEqual({ given: text, early: text, input: text });
        },
      ),
    );
  });

  it('waits for the rest of an escape', () => {
    const reader = new CustomInputReader();
    expect(['{"input":"a\\', 'n\\u00', 'e9\\\\', '"}'].map((piece) => reader.push(piece))).toEqual([
      'a',
      '\n',
      'é\\',
      '',
    ]);
  });

  it.each([
    ['text that is no JSON', '*** Begin Patch', '*** Begin Patch'],
    ['other arguments', '{"patch":"x"}', '{"patch":"x"}'],
    ['an input behind another argument', '{"a":1,"input":"x"}', 'x'],
    ['an input of another type', '{"input":7}', '{"input":7}'],
    ['nothing', '', ''],
  ])('is the arguments themselves or what can be found in them: %s', (_, text, input) => {
    expect(customInput(text)).toBe(input);
    expect(read([...text])).toMatchObject({ given: input, input });
  });
});
