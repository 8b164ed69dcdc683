import { constants } from 'node:fs';
import { access, chmod, mkdir } from 'node:fs/promises';
import { StartError } from '@sotto/server';

/** Creates the data directory if it is missing, and checks that this process can write to it. Throws a `StartError` if it cannot. */
export async function openDataDir(dataDir: string): Promise<void> {
  try {
    // `made` is the first folder that was missing. A folder that was there keeps its mode.
    const made = await mkdir(dataDir, { recursive: true });
    // Postgres does not run as root and must pass this folder. Secret files in it have mode 0600.
    if (made !== undefined) await chmod(dataDir, 0o711);
    await access(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    throw new StartError(`SOTTO_DATA_DIR is \`${dataDir}\`: ${problems[code] ?? `it cannot be used (${code})`}`);
  }
}

const problems: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file. Name a folder',
  ENOTDIR: 'a part of this path is a file. Name a folder',
  EACCES: 'this user may not write there. Name another folder, or change its owner',
  EPERM: 'this user may not write there. Name another folder, or change its owner',
  EROFS: 'its file system is read-only. Name another folder',
};
