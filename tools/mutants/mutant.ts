/** One fault that a test must notice: a text of a source file, and what replaces it. */
export interface Mutant {
  /** Unique, such as `errors/rate_limited`. Its first part names the folder of entries. */
  readonly name: string;
  /** Path in the repository. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly before: string;
  readonly after: string;
  /** At most two test files. One of their assertions must fail. */
  readonly tests: readonly [string] | readonly [string, string];
  /** Words of the names of the tests that run, such as a topology. Default: all of the files. */
  readonly only?: string;
}

/** The fields that the mutants of one promise share. */
export interface Place {
  readonly folder: string;
  readonly file: string;
  readonly tests: Mutant['tests'];
  readonly only?: string;
}

/** Builds the mutants of one place from `[name, before, after]`. */
export const mutantsAt = (
  { folder, ...place }: Place,
  changes: readonly (readonly [name: string, before: string, after: string])[],
): Mutant[] => changes.map(([name, before, after]) => ({ name: `${folder}/${name}`, before, after, ...place }));

/**
 * Builds one mutant for each match of a pattern in a file, so that a new row of a table gets a mutant of its own.
 * `change` returns the name of the row and what its text becomes.
 */
export function mutantsOfRows(
  { folder, file, tests }: Place,
  {
    text,
    pattern,
    change,
  }: {
    readonly text: string;
    readonly pattern: RegExp;
    readonly change: (row: RegExpMatchArray) => readonly [name: string, after: string];
  },
): Mutant[] {
  return [...text.matchAll(pattern)].map((row) => {
    const [name, after] = change(row);
    // A row that occurs again is told apart by the text before it.
    let from = row.index;
    const end = row.index + row[0].length;
    while (text.split(text.slice(from, end)).length > 2) from = text.lastIndexOf('\n', from - 2) + 1;
    const before = text.slice(from, end);
    return { name: `${folder}/${name}`, file, before, after: text.slice(from, row.index) + after, tests };
  });
}

/** Applies a mutant to its file's text. Throws if the text to replace does not occur exactly once. */
export function applied({ name, before, after }: Mutant, text: string): string {
  const parts = text.split(before);
  if (parts.length !== 2) throw new Error(`${name}: the text to replace occurs ${parts.length - 1} times, not once`);
  if (before === after) throw new Error(`${name}: it changes nothing`);
  return parts.join(after);
}
