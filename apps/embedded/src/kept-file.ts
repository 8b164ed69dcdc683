import { readFile, rename, writeFile } from 'node:fs/promises';

/** Reads a JSON file of ours; undefined where there is none. Throws where it cannot be read or parsed. */
export async function readKept(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

/** Writes a JSON file that only its owner may read; whole or not at all, even if we are killed in between. */
export async function keep(file: string, content: object): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, file);
}
