import { dirname } from 'node:path';
import picomatch from 'picomatch';
import type { Thorough } from '../../test/thorough.ts';

/** What the thorough part of a run is chosen by. */
export interface Landing {
  /** The paths of all files of the repository. */
  readonly files: readonly string[];
  /** The paths of the files that this landing changed. */
  readonly changed: readonly string[];
  /** The number of commits before and including this one. */
  readonly commits: number;
}

export interface Chosen {
  /** Test files that a change may break. */
  readonly named: readonly string[];
  /** Test files whose turn it is. */
  readonly due: readonly string[];
}

/** Returns whether one of the globs matches a path. */
export function matches(globs: readonly string[]): (path: string) => boolean {
  const isMatch = picomatch(globs as string[]);
  return (path) => isMatch(path);
}

/** In so many turns, each thorough file runs once. */
const turns = 10;

/** Chooses the thorough test files that run: those that a changed source or helper names, and a tenth of the others. */
export function choose(entries: readonly Thorough[], { files, changed, commits }: Landing): Chosen {
  const sources = changed.filter((path) => !path.endsWith('.test.ts'));
  const named = new Set<string>();
  const all = new Set<string>();
  for (const entry of entries) {
    const isChanged = sources.some(matches(entry.changes));
    for (const file of files.filter(matches([entry.files]))) {
      all.add(file);
      // What lies beside a test file are its helpers.
      if (isChanged || changed.includes(file) || sources.some((path) => dirname(path) === dirname(file)))
        named.add(file);
    }
  }
  const due = [...all].toSorted().filter((file, at) => at % turns === commits % turns && !named.has(file));
  return { named: [...named], due };
}
