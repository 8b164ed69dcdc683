import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { whenWeEnd } from '@sotto/test-servers';

const run = promisify(execFile);

/** A separate disk in memory that a test can fill. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills the disk completely. */
  fill(): Promise<void>;
  /** Frees the space that `fill` used. */
  free(): Promise<void>;
  stop(): Promise<void>;
}

/** Undefined if this machine does not allow mounts. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0711`, 'tmpfs', folder]);
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  // Unmounts lazily, because the servers on this disk are killed at about the same time and may still use it.
  const callOff = whenWeEnd('umount -l "$1" && rmdir "$1"', [folder]);
  const filling = join(folder, 'filling');
  await mkdir(filling);
  return {
    folder,
    async fill() {
      for (let part = 0; ; part += 1) {
        const { bavail, bsize } = await statfs(folder);
        if (bavail === 0) return;
        const bytes = Math.min(bavail * bsize, 16 << 20);
        // A server on this disk may use the remaining space first.
        await writeFile(join(filling, String(part)), Buffer.alloc(bytes)).catch(() => {});
      }
    },
    async free() {
      await rm(filling, { recursive: true, force: true });
      await mkdir(filling);
    },
    async stop() {
      // Unmounts lazily, because a server that was just killed may still use it.
      await run('umount', ['-l', folder]);
      callOff();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
