import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDataDir } from './data-dir.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-data-'));
});
afterEach(() => rm(folder, { recursive: true }));

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('the data directory', () => {
  it('is created so that Postgres, which runs as another user, can pass it', async () => {
    const made = join(folder, 'a', 'b');
    await openDataDir(made);
    expect(await modeOf(made)).toBe(0o711);
  });

  it('keeps its mode if it was there', async () => {
    await chmod(folder, 0o750);
    await openDataDir(folder);
    expect(await modeOf(folder)).toBe(0o750);
  });

  it('is refused in a sentence if it is a file, or below one', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    await expect(openDataDir(file)).rejects.toThrow(`SOTTO_DATA_DIR is \`${file}\`: it is a file. Name a folder`);
    await expect(openDataDir(join(file, 'x'))).rejects.toThrow(/a part of this path is a file\. Name a folder/);
  });
});
