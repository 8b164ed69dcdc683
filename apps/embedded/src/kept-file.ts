import { readFile, rename, writeFile } from 'node:fs/promises';

/** Reads a JSON file. Returns undefined if it does not exist. Throws if it cannot be read or parsed. */
export async function readKept(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

/** Writes a JSON file that only its owner can read. */
export const keep = (file: string, content: object): Promise<void> =>
  keepText(file, `${JSON.stringify(content, null, 2)}\n`);

/** Writes a file that only its owner can read. */
export const keepText = (file: string, text: string): Promise<void> => writeWhole(file, text, 0o600);

/** Writes a file whole: a kill leaves the old file or the new one, and a process that reads it meanwhile gets one of them. */
export async function writeWhole(file: string, text: string, mode = 0o666): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode });
  await rename(temporary, file);
}
