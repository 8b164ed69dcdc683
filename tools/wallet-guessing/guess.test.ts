import { expect, test } from 'vitest';
import { guess, habits } from './guess.ts';

const of = (name: string, accounts: number, seed = 1) => {
  const habit = habits[name];
  if (habit === undefined) throw new Error(`no habit ${name}`);
  return guess(habit, { accounts, targets: 120, seed });
};

test('the same seed gives the same guesses', () => {
  expect(of('no resting', 20)).toEqual(of('no resting', 20));
});

test('the operator finds who buys just before a run, and a person among few over weeks', () => {
  expect(of('no resting', 20).one).toBeGreaterThan(0.25);
  expect(of('no resting', 20).weeks).toBeGreaterThan(0.8);
  expect(of('resting, bought at another time', 20).one).toBeGreaterThan(1 / 20);
});

test('resting and buying at another time hides one deposit better', () => {
  const hidden = of('resting, bought at another time', 300);
  expect(hidden.one).toBeLessThan(of('no resting', 300).one);
  expect(hidden.one).toBeLessThan(0.1);
});
