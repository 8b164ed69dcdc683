import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { codeOf, UsageError } from './terminal.ts';

/**
 * Lets one process at a time read and replace a file. `change` gets the function that replaces it. Others see the old
 * text or the new one, never a part. If `change` throws or replaces nothing, the file stays as it was. A link is
 * followed, and the mode stays. Throws a `UsageError` if another process changes the file, or if it cannot be written.
 *
 * Two processes that read the same text would each drop what the other adds. So the new file is the lock.
 */
export async function replacingFile<Result>(
  file: string,
  change: (replace: (text: string) => void) => Promise<Result>,
): Promise<Result> {
  const target = targetOf(file);
  const mode = existsSync(target) ? statSync(target).mode & 0o777 : undefined;
  const next = `${target}.new`;
  const descriptor = openNew(file, next, mode);
  let isReplaced = false;
  try {
    return await change((text) => {
      writeFileSync(descriptor, text);
      if (mode !== undefined) chmodSync(next, mode);
      // Without this, a crash of the machine could leave an empty file in place of the old one.
      fsyncSync(descriptor);
      renameSync(next, target);
      isReplaced = true;
    });
  } finally {
    closeSync(descriptor);
    if (!isReplaced) rmSync(next, { force: true });
  }
}

function targetOf(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return file;
  throw new UsageError(`${file} is a link to a file that does not exist. Create that file, or remove the link.`);
}

function openNew(file: string, next: string, mode: number | undefined): number {
  try {
    return openSync(next, 'wx', mode === undefined ? 0o666 : 0o600);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EEXIST') throw new UsageError(`${file} cannot be written: ${next} cannot be created (${code}).`);
    throw new UsageError(
      `${next} exists: another process changes ${file}, or one ended early. If none runs, remove it.`,
    );
  }
}
