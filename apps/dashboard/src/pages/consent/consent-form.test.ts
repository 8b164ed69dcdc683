import { expect, it } from 'vitest';
import { firstLimit, readLimit } from './consent-form.tsx';

const read = (text: string) => readLimit({ text, isUnlimited: false });

it('begins with a small amount', () => {
  expect(readLimit(firstLimit)).toEqual({ ok: true, usd: 5 });
});

it.each([
  ['0', 0],
  [' 12.50 ', 12.5],
  ['0.000000001', 1e-9],
  ['1000000', 1_000_000],
])('reads %j', (text, usd) => {
  expect(read(text)).toEqual({ ok: true, usd });
});

it.each(['', '-1', '1e3', '5 USD', '1,5', '0.0000000001', '1000001', 'NaN'])('does not take %j', (text) => {
  expect(read(text).ok).toBe(false);
});

it('takes no limit only where that is said', () => {
  expect(readLimit({ text: 'x', isUnlimited: true })).toEqual({ ok: true, usd: null });
});
