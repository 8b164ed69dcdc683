import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { whenWeEnd } from './die-together.ts';

const run = promisify(execFile);

/** A disk of its own, in memory, that can be filled. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no byte. */
  fill(): Promise<void>;
  /** Gives back what `fill` took. */
  free(): Promise<void>;
  stop(): Promise<void>;
}

/** Undefined where this machine does not let us mount one. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0711`, 'tmpfs', folder]);
  } catch {
    await rm(folder, { recursive: true, force: true });
    return undefined;
  }
  // Whoever lives on it is killed at about the same time, and does not hold it up.
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
        // Whoever lives on it may take the last of it first.
        await writeFile(join(filling, String(part)), Buffer.alloc(bytes)).catch(() => {});
      }
    },
    async free() {
      await rm(filling, { recursive: true, force: true });
      await mkdir(filling);
    },
    async stop() {
      // Lazily: whoever was killed on it a moment ago may still be going.
      await run('umount', ['-l', folder]);
      callOff();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
