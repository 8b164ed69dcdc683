import { expect, it } from 'vitest';
import { countWords } from './demo-answer.ts';

it('counts words, at once also where there are a million spaces and none', () => {
  expect(countWords('one two\n\nthree ')).toBe(3);
  expect(countWords(' '.repeat(1_000_000))).toBe(0);
});
