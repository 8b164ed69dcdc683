import { describe, expect, it } from 'vitest';
import { exactUsdOf, formatBalance, readUsd, typedUsd } from './format.ts';

it.each([
  [24.99701, '$24.99'],
  [0.29, '$0.29'],
  [25, '$25.00'],
  [0.0512, '$0.0512'],
  [0, '$0.00'],
])('a balance of %f is %s: from ten cents on it is rounded down', (usd, shown) => {
  expect(formatBalance(usd)).toBe(shown);
});

it('exact amounts of a column have the digits that the longest of them needs', () => {
  const amounts = [0.0006, 0.00004, 1.2];
  expect(amounts.map(exactUsdOf(amounts))).toEqual(['$0.00060', '$0.00004', '$1.20000']);
  expect(exactUsdOf([0, 5])(5)).toBe('$5.00');
});

describe('an amount as it is typed', () => {
  it.each([
    ['5', 5],
    [' $0.50 ', 0.5],
    ['.25', 0.25],
    ['0', 0],
    ['0.000000001', 1e-9],
    ['1000000', 1_000_000],
    ['', null],
    ['  ', null],
  ])('%j is %j', (typed, usd) => {
    expect(readUsd(typed)).toBe(usd);
  });

  it.each([
    [5e-7, '0.0000005'],
    [1e-9, '0.000000001'],
    [0, '0'],
    [100, '100'],
    [1_000_000, '1000000'],
    [26.3 * 3, '78.9'],
    [999_999.99, '999999.99'],
    [null, ''],
    [undefined, ''],
  ])('%d is typed as %j, which is read again', (usd, typed) => {
    expect(typedUsd(usd)).toBe(typed);
    expect(readUsd(typed)).toBe(usd === undefined || usd === null ? null : Number(usd.toFixed(9)));
  });

  it.each(['five', '-1', '1,5', '1,000', '1e3', '0x10', '1.', 'Infinity', '0.0000000001', '1000001'])(
    '%j is none',
    (typed) => {
      expect(readUsd(typed)).toBeUndefined();
    },
  );
});
