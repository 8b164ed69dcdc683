import { expect, it } from 'vitest';
import { GroupRun } from './group-run.ts';

/** Runs that end when a test says so. */
function stage(most = 100) {
  const runs: { readonly items: readonly number[]; end(error?: Error): void }[] = [];
  const group = new GroupRun<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, end: (error) => (error === undefined ? resolve(`ran ${items.join(' ')}`) : reject(error)) });
      }),
    most,
  );
  return { group, runs };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('runs what comes first at once, and all that comes meanwhile in the next run', async () => {
  const { group, runs } = stage();
  const first = group.add([1]);
  await turn();
  const later = [group.add([2]), group.add([3, 4])];
  await turn();
  expect(runs.map(({ items }) => items)).toEqual([[1]]);
  runs[0]?.end();
  await turn();
  runs[1]?.end();
  expect(await first).toBe('ran 1');
  expect(await Promise.all(later)).toEqual(['ran 2 3 4', 'ran 2 3 4']);
});

it('a failed run rejects only those who were in it, and the next run begins', async () => {
  const { group, runs } = stage();
  const first = group.add([1]);
  await turn();
  const second = group.add([2]);
  runs[0]?.end(new Error('no database'));
  await expect(first).rejects.toThrow('no database');
  await turn();
  runs[1]?.end();
  expect(await second).toBe('ran 2');
});

it('begins a further group when one is full, and keeps the order', async () => {
  const { group, runs } = stage(2);
  const all = [[1], [2, 3], [4], [5], [6]].map((items) => group.add(items));
  for (let run = 0; run < 3; run += 1) {
    await turn();
    runs[run]?.end();
  }
  expect(await Promise.all(all)).toEqual(['ran 1 2 3', 'ran 1 2 3', 'ran 4 5', 'ran 4 5', 'ran 6']);
});
