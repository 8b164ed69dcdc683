import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shiftDecimal } from './amounts.ts';

describe('shiftDecimal', () => {
  it.each([
    ['0.00000015', 6, '0.15'],
    ['0.000002', 6, '2'],
    ['0.0000004', 6, '0.4'],
    ['1.5e-7', 6, '0.15'],
    ['2E-06', 6, '2'],
    ['0', 6, '0'],
    ['0.000', 6, '0'],
    ['-0', 6, undefined],
    ['3', 6, '3000000'],
    ['.5', 0, '0.5'],
    ['5.', 0, '5'],
    ['007.10', 0, '7.1'],
    ['12.5', -3, '0.0125'],
    ['12', -1, '1.2'],
    ['0.00000000000015', 6, '0.00000015'],
    [' 0.5 ', 0, '0.5'],
    ['-1', 6, undefined],
    ['', 6, undefined],
    ['.', 6, undefined],
    ['1,5', 6, undefined],
    ['free', 6, undefined],
    ['NaN', 6, undefined],
    ['Infinity', 6, undefined],
    ['1e999', 6, undefined],
    ['0x10', 6, undefined],
  ])('%s by %i places is %s', (text, places, shifted) => {
    expect(shiftDecimal(text, places)).toBe(shifted);
  });

  it('is exact: shifting back gives the same digits', () => {
    const anyDigits = fc.stringMatching(/^[1-9][0-9]{0,20}$/);
    fc.assert(
      fc.property(anyDigits, fc.integer({ min: -20, max: 20 }), (digits, places) => {
        expect(shiftDecimal(shiftDecimal(digits, places) ?? '', -places)).toBe(digits);
        expect(shiftDecimal(`${digits}e${places}`, 0)).toBe(shiftDecimal(digits, places));
      }),
    );
  });
});
