import { expect, it } from 'vitest';
import { limitRepeats } from './limit-repeats.ts';

function startLimit() {
  const clock = { now: 0 };
  const lines: object[] = [];
  const write = (fields: object): void => void lines.push(fields);
  return { clock, lines, limited: limitRepeats({ info: write, warn: write, error: write }, () => clock.now) };
}

it('writes the first line of each key, then one a minute with the number of those that it held back', () => {
  const { clock, lines, limited } = startLimit();
  const fail = (task: string): void => limited('warn', task, { task }, 'task failed');
  for (clock.now = 0; clock.now < 60_000; clock.now += 1000) fail('settler');
  fail('projection');
  expect(lines).toEqual([{ task: 'settler' }, { task: 'projection' }]);
  fail('settler');
  expect(lines.at(-1)).toEqual({ task: 'settler', repeats: 59 });
  clock.now = 120_000;
  fail('settler');
  expect(lines.at(-1)).toEqual({ task: 'settler' });
});

it('keeps a bounded number of keys', () => {
  const { lines, limited } = startLimit();
  for (let at = 0; at < 5000; at += 1) limited('info', String(at), {}, 'line');
  for (let at = 4990; at < 5000; at += 1) limited('info', String(at), {}, 'line');
  expect(lines).toHaveLength(5000);
});
