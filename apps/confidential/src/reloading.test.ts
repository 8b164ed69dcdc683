import { StartError } from '@sotto/server';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { reloading } from './reloading.ts';

const hour = 3_600_000;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A broker whose reloads a test ends. */
function stage(hasKeeper: boolean) {
  const ends: ((error?: Error) => void)[] = [];
  const refused: string[] = [];
  const ask = reloading({
    reload: () =>
      new Promise((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)));
      }),
    hasKeeper,
    onRefused: ({ problem }) => refused.push(problem),
  });
  const end = async (error?: Error): Promise<void> => {
    ends.at(-1)?.(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { ask, end, refused, begun: () => ends.length };
}

it('asks a keeper each hour, also after a refusal, and nobody without a keeper', async () => {
  const { end, refused, begun } = stage(true);
  const alone = stage(false);
  await vi.advanceTimersByTimeAsync(hour - 1);
  expect(begun()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun()).toBe(1);
  await end(new StartError('ACME_API_KEY is set here and also released by the keeper.'));
  await vi.advanceTimersByTimeAsync(hour);
  expect(begun()).toBe(2);
  await end(new Error('the text of a key'));
  expect(refused).toEqual(['ACME_API_KEY is set here and also released by the keeper.', 'unexpected error']);
  // The keeper does not answer for hours. One question waits, and one comes after it.
  await vi.advanceTimersByTimeAsync(5 * hour);
  expect(begun()).toBe(3);
  await end();
  expect(begun()).toBe(4);
  await end();
  expect(begun()).toBe(4);
  expect(alone.begun()).toBe(0);
});

it('reloads once after all signals that came during a reload', async () => {
  const { ask, end, begun } = stage(false);
  ask();
  ask();
  ask();
  expect(begun()).toBe(1);
  await end();
  expect(begun()).toBe(2);
  await end();
  expect(begun()).toBe(2);
  ask();
  expect(begun()).toBe(3);
});
