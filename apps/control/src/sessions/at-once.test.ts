import { expect, it } from 'vitest';
import { atOnce } from './at-once.ts';

/** A task that ends when the test says so. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { task: () => promise, resolve, reject };
}

it('runs so many at once, the others in turn, and refuses one too many before it begins', async () => {
  const run = atOnce({ running: 2, waiting: 1 });
  const [one, two] = [held(), held()];
  const begun: string[] = [];
  const first = run(one.task);
  const second = run(two.task);
  const third = run(async () => begun.push('third'));
  await expect(run(async () => begun.push('fourth'))).rejects.toMatchObject({ type: 'service_unavailable' });
  expect(begun).toEqual([]);
  one.resolve('one');
  await Promise.all([first, third]);
  expect(begun).toEqual(['third']);
  two.resolve('two');
  await second;
});

it('gives the place of a task that fails to the next', async () => {
  const run = atOnce({ running: 1, waiting: 1 });
  const one = held();
  const first = run(one.task);
  const second = run(async () => 'second');
  one.reject(new Error('it failed'));
  await expect(first).rejects.toThrow('it failed');
  expect(await second).toBe('second');
  expect(await run(async () => 'third')).toBe('third');
});
