import { expect, it } from 'vitest';
import { MemoryReturn } from './return-memory.ts';

/** A process whose clock the test moves by ten seconds at a time. */
function quietProcess() {
  let due: (() => void) | undefined;
  let collections = 0;
  const memory = new MemoryReturn(
    (task) => {
      expect(due).toBeUndefined();
      due = task;
    },
    () => {
      collections += 1;
    },
  );
  memory.isOn = true;
  const pass = (): number => {
    const task = due;
    due = undefined;
    task?.();
    return collections;
  };
  return { memory, pass, isWaiting: () => due !== undefined };
}

it('stops no process that does more than serve', () => {
  const { memory, isWaiting } = quietProcess();
  memory.isOn = false;
  memory.started();
  memory.begun();
  expect(isWaiting()).toBe(false);
});

it('returns the memory of the start, once, and then waits for a request', () => {
  const { memory, pass, isWaiting } = quietProcess();
  memory.started();
  expect(pass()).toBe(1);
  expect(isWaiting()).toBe(false);
});

it('returns memory once no request has begun for ten seconds', () => {
  const { memory, pass } = quietProcess();
  memory.started();
  expect(pass()).toBe(1);
  memory.begun();
  memory.ended();
  expect(pass()).toBe(1);
  memory.begun();
  memory.ended();
  expect(pass()).toBe(1);
  expect(pass()).toBe(2);
  expect(pass()).toBe(2);
});

it('stops the process for no request that still runs', () => {
  const { memory, pass } = quietProcess();
  memory.begun();
  expect(pass()).toBe(0);
  expect(pass()).toBe(0);
  memory.ended();
  expect(pass()).toBe(1);
});
