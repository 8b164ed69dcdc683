import { expect, it } from 'vitest';
import { TextDensities } from './text-densities.ts';

it('assumes four bytes per token for a route with fewer than 20 answers', () => {
  const densities = new TextDensities();
  for (let answers = 0; answers < 19; answers += 1) densities.add('dense', 1);
  expect(densities.tokensPerByte('dense')).toBe(0.25);
  densities.add('dense', 1);
  expect(densities.tokensPerByte('dense')).toBe(1);
  expect(densities.tokensPerByte('other')).toBe(0.25);
});

it('takes the median of the last 100 answers, so that a few unusual ones change nothing', () => {
  const densities = new TextDensities();
  for (let answers = 0; answers < 100; answers += 1) densities.add('r', answers < 40 ? 1 : 0.3);
  expect(densities.tokensPerByte('r')).toBe(0.3);
  for (let answers = 0; answers < 100; answers += 1) densities.add('r', 0.5);
  expect(densities.tokensPerByte('r')).toBe(0.5);
});

it('is never below the average, so that answers of blanks make no other answer cheaper', () => {
  const densities = new TextDensities();
  for (let answers = 0; answers < 100; answers += 1) densities.add('r', 1 / 128);
  expect(densities.tokensPerByte('r')).toBe(0.25);
});
