import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Begins the files with the most tests first, so that no long one begins when the others have ended. A file of suites is short, but its
 * tests stand in the files beside it that it imports. So this counts the bytes of both.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bytes = new Map(files.map((file) => [file, bytesOf(file.moduleId)]));
    return files.toSorted((a, b) => (bytes.get(b) ?? 0) - (bytes.get(a) ?? 0));
  }
}

function bytesOf(path: string, seen = new Set<string>()): number {
  // A text within a test may look like an import.
  if (seen.has(path) || !existsSync(path)) return 0;
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  const beside = [...text.matchAll(/from '(\.\/[^']+\.ts)'/g)].map(([, name = '']) => join(dirname(path), name));
  return text.length + beside.reduce((sum, each) => sum + bytesOf(each, seen), 0);
}
