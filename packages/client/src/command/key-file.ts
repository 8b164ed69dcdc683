import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { UsageError } from './terminal.ts';

/**
 * Reads a file that holds a key. As ssh does, refuses one of the user's own that others on the machine can read or change.
 * Files of other owners, such as mounted secrets, are not the user's to close; Windows has no such modes (`userId` undefined).
 */
export function readKeyFile(file: string, userId: number | undefined): string {
  try {
    // Looked at and read by one descriptor: the name may come to mean another file in between.
    const descriptor = openSync(file, 'r');
    try {
      const stat = fstatSync(descriptor);
      if (stat.isFile() && stat.uid === userId && (stat.mode & 0o077) !== 0) throw openToOthers(file, stat.mode);
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it cannot be read';
    throw new UsageError(`--key-file ${file}: ${code}.`);
  }
}

const openToOthers = (file: string, mode: number): UsageError =>
  new UsageError(
    `--key-file ${file}: its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}, so other users of this machine can get at the key. Run \`chmod 600 ${quoted(file)}\`.`,
  );

/** A path as a shell takes it. */
const quoted = (path: string): string => (/^[\w./~+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
