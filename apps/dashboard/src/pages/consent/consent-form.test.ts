import { expect, it } from 'vitest';
import { firstLimit, readLimit } from './consent-form.tsx';

it('begins with a small amount', () => {
  expect(readLimit(firstLimit)).toBe(5);
});

it.each([
  ['0', 0],
  [' 12.50 ', 12.5],
  ['', undefined],
  ['five', undefined],
])('reads %j as %s', (text, usd) => {
  expect(readLimit({ text, isUnlimited: false })).toBe(usd);
});

it('takes no limit only where that is said', () => {
  expect(readLimit({ text: 'x', isUnlimited: true })).toBeNull();
});
