import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Thorough, thorough } from '../../test/thorough.ts';
import { choose, matches } from './choose.ts';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trim()
  .split('\n');

const isThorough = matches(thorough.map((entry) => entry.files));

describe('the thorough files of a run', () => {
  const entries: readonly Thorough[] = [
    { files: 'test/a/*.test.ts', leftOut: 'files', changes: ['src/a/**'] },
    { files: 'test/b.test.ts', leftOut: 'tests', changes: ['src/{b,c}/**'] },
  ];
  const few = ['test/a/1.test.ts', 'test/a/2.test.ts', 'test/b.test.ts', 'test/other.test.ts'];
  const chosen = (changed: readonly string[], commits = 9) => choose(entries, { files: few, changed, commits });

  it('are those that a changed source names, and those that changed themselves or have a changed helper', () => {
    expect(chosen([])).toEqual({ named: [], due: [] });
    expect(chosen(['test/a/world.ts']).named).toEqual(['test/a/1.test.ts', 'test/a/2.test.ts']);
    expect(chosen(['src/a/deep/x.ts']).named).toEqual(['test/a/1.test.ts', 'test/a/2.test.ts']);
    expect(chosen(['src/c/x.ts', 'test/a/2.test.ts']).named).toEqual(['test/a/2.test.ts', 'test/b.test.ts']);
  });

  it('are in ten turns all of them', () => {
    const due = Array.from({ length: 10 }, (_, commits) => choose(thorough, { files, changed: [], commits }).due);
    const all = files.filter(isThorough);
    expect(due.flat().toSorted()).toEqual(all.toSorted());
    expect(Math.max(...due.map(({ length }) => length))).toBeLessThanOrEqual(Math.ceil(all.length / 10));
  });

  it('are chosen by paths that exist', () => {
    for (const entry of thorough) {
      for (const glob of [entry.files, ...entry.changes]) expect(files.some(matches([glob])), glob).toBe(true);
    }
  });

  it('include every file that leaves tests or topologies out', () => {
    const leavesOut = /\b(?:thoroughly\(|isThorough\b|everyTopology\b|planes: \['(?:two|one)', )/;
    const found = files.filter(
      (file) => /^test\/(?!kit\/).*\.test\.ts$/.test(file) && leavesOut.test(readFileSync(file, 'utf8')),
    );
    expect(found.filter((file) => !isThorough(file))).toEqual([]);
  });
});
