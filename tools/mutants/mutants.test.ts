import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mutants } from './all.ts';
import { applied } from './mutant.ts';

const path = (file: string): URL => new URL(`../../${file}`, import.meta.url);

it('there are at least 150 mutants, each with a name of its own', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(150);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('%s still changes its file', (_, mutant) => {
  expect(() => applied(mutant, readFileSync(path(mutant.file), 'utf8'))).not.toThrow();
  for (const file of mutant.tests) expect(existsSync(path(file))).toBe(true);
});
