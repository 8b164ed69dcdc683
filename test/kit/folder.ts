import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Creates an empty folder for the tests of the surrounding suite. It is deleted after them, with all that is in it. */
export function useFolder(name: string, mode = 0o700): string {
  const folder = mkdtempSync(join(tmpdir(), `sotto-test-${name}-`));
  chmodSync(folder, mode);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
