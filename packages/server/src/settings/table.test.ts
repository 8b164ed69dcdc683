import { expect, it } from 'vitest';
import { onlyVariables } from './setting-paths.ts';
import { planes, rowsOf } from './table.ts';

it.each(planes)('has one row for each variable of %s, and one place in sotto.yaml for each', (plane) => {
  const rows = rowsOf(plane);
  const places = rows.flatMap(({ yaml }) => yaml ?? []);
  expect(rows.length).toBeGreaterThan(5);
  expect(new Set(rows.map(({ env }) => env)).size).toBe(rows.length);
  expect(new Set(places).size).toBe(places.length);
});

it('gives every setting but NODE_ENV a place in sotto.yaml', () => {
  expect([...onlyVariables]).toEqual(['NODE_ENV']);
});
