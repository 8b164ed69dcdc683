import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { repeat } from './repeat.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A task whose runs a test ends. */
function stage() {
  let runs = 0;
  let end = (_more: boolean): void => {};
  const task = repeat(60_000, () => {
    runs += 1;
    return new Promise<boolean>((resolve) => {
      end = resolve;
    });
  });
  return { task, runs: () => runs, end: (more = false) => end(more) };
}

it('runs at the start, after the interval, and at once while there is more', async () => {
  const { task, runs, end } = stage();
  task.start();
  expect(runs()).toBe(1);
  end(true);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs()).toBe(2);
  end();
  await vi.advanceTimersByTimeAsync(59_999);
  expect(runs()).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs()).toBe(3);
});

it('is woken once by all who wake it at about the same time', async () => {
  const { task, runs, end } = stage();
  task.start();
  end();
  await vi.advanceTimersByTimeAsync(1000);
  for (let times = 0; times < 5; times += 1) task.wake();
  await vi.advanceTimersByTimeAsync(100);
  expect(runs()).toBe(2);
  end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(runs()).toBe(2);
});

it('runs once more if it is woken during a run, which may have looked too early', async () => {
  const { task, runs, end } = stage();
  task.start();
  task.wake();
  task.wake();
  end();
  await vi.advanceTimersByTimeAsync(100);
  expect(runs()).toBe(2);
});

it('is not woken before its start or after its stop', async () => {
  const { task, runs, end } = stage();
  task.wake();
  await vi.advanceTimersByTimeAsync(1000);
  expect(runs()).toBe(0);
  task.start();
  const stopped = task.stop();
  task.wake();
  end(true);
  await stopped;
  await vi.advanceTimersByTimeAsync(120_000);
  expect(runs()).toBe(1);
});

it('pauses for a time of its own after a failure, if it is given one', async () => {
  let runs = 0;
  const task = repeat(
    60_000,
    async () => {
      runs += 1;
      if (runs === 1) throw new Error('no database');
    },
    () => {},
    { pauseMs: 5_000 },
  );
  task.start();
  await vi.advanceTimersByTimeAsync(4_999);
  task.wake();
  expect(runs).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toBe(2);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(runs).toBe(2);
  await task.stop();
});

it('waits for the interval after a failure, whoever wakes it', async () => {
  let runs = 0;
  const failures: unknown[] = [];
  const task = repeat(
    60_000,
    async () => {
      runs += 1;
      task.wake();
      throw new Error('no database');
    },
    (error) => failures.push(error),
  );
  task.start();
  await vi.advanceTimersByTimeAsync(1000);
  task.wake();
  await vi.advanceTimersByTimeAsync(58_000);
  expect({ runs, failures: failures.length }).toEqual({ runs: 1, failures: 1 });
  await vi.advanceTimersByTimeAsync(2000);
  expect(runs).toBe(2);
  await task.stop();
});

it('is woken in the very moment in which a run ends', async () => {
  let runs = 0;
  const task = repeat(60_000, async () => {
    runs += 1;
  });
  task.start();
  await Promise.resolve();
  task.wake();
  await vi.advanceTimersByTimeAsync(1000);
  task.wake();
  await vi.advanceTimersByTimeAsync(1000);
  expect(runs).toBeGreaterThan(1);
});
