import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { thoroughly } from '../../test/kit/both-planes.ts';
import { cellOf, guess, type Habits, habits } from './guess.ts';

const threatModel = readFileSync(new URL('../../docs/THREAT_MODEL.md', import.meta.url), 'utf8');
const tableOf = (column: number): string[] =>
  Object.keys(habits).map((name) => {
    const row = threatModel.split('\n').find((line) => line.startsWith(`| ${name} |`));
    return row?.split(' | ')[column]?.replace(' |', '') ?? 'none';
  });
const [atOnce, justBefore, apart, tenApart] = Object.values(habits) as [Habits, Habits, Habits, Habits];
const among = (accounts: number, habit: Habits) => guess(habit, { accounts, targets: 150, seed: 1 });

test('the threat model has the rates of this tool, among few accounts', () => {
  expect(tableOf(1)).toEqual(Object.values(habits).map((habit) => cellOf(habit, 20)));
});

thoroughly('the threat model has the rates of this tool, among a thousand accounts', () => {
  expect(tableOf(2)).toEqual(Object.values(habits).map((habit) => cellOf(habit, 1_000)));
});

test('the same seed gives the same guesses', () => {
  expect(among(20, atOnce)).toEqual(among(20, atOnce));
});

test('resting alone hides little, because spending says when the next lot must be bought', () => {
  const [without, resting] = [among(300, atOnce), among(300, justBefore)];
  expect(resting.one).toBeGreaterThan(without.one * 0.7);
  expect(resting.weeks).toBeGreaterThan(0.95);
  expect(among(300, apart).weeks).toBeGreaterThan(0.9);
});

test('buying at another time hides one wallet, and many lots at once hide weeks better', () => {
  const [one, ten] = [among(300, apart), among(300, tenApart)];
  expect(one.one).toBeLessThan(among(300, justBefore).one / 5);
  expect(ten.weeks).toBeLessThan(one.weeks * 0.6);
});

test('among few accounts, nothing hides weeks', () => {
  for (const habit of Object.values(habits)) expect(among(20, habit).weeks).toBeGreaterThan(0.85);
});
