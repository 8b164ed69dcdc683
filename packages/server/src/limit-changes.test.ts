import { expect, it } from 'vitest';
import { limitChanges } from './limit-changes.ts';

/** Follows a state on a clock of the test. Returns the lines that were written, with their times in s. */
function follow(changes: readonly (readonly [second: number, state: string])[], until: number): string[] {
  let now = 0;
  let waiting: { run: () => void; at: number }[] = [];
  const lines: string[] = [];
  const later = (run: () => void, ms: number): void => void waiting.push({ run, at: now + ms });
  const change = limitChanges((state: string) => lines.push(`${now / 1000} ${state}`), { now: () => now, later });
  for (; now <= until * 1000; now += 1000) {
    const due = waiting.filter(({ at }) => at <= now);
    waiting = waiting.filter(({ at }) => at > now);
    for (const { run } of due) run();
    for (const [second, state] of changes) if (second * 1000 === now) change(state);
  }
  return lines;
}

it('writes the first changes at once', () => {
  const changes = [[0, 'down'] as const, [10, 'up'] as const, [20, 'down'] as const];
  expect(follow(changes, 3600)).toEqual(['0 down', '10 up', '20 down']);
});

it('holds a state that flaps to four lines a minute, and then writes what it is', () => {
  const changes = Array.from({ length: 31 }, (_, at) => [at, at % 2 === 0 ? 'down' : 'up'] as const);
  expect(follow(changes, 3600)).toEqual(['0 down', '1 up', '2 down', '3 up', '60 down']);
});

it('writes nothing more of a state that is as it was', () => {
  const changes = ['down', 'up', 'down', 'up', 'down', 'up'].map((state, at) => [at, state] as const);
  expect(follow(changes, 3600)).toEqual(['0 down', '1 up', '2 down', '3 up']);
});
