import { execFile } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Clocks of processes that a test can set: through a module loaded into Node, or a library loaded into any other
 * process.
 */
export interface MovedClocks {
  /** Settings for a process of Node. It may notice a change a tenth of a second after `setNode`. */
  readonly node: { readonly flags: readonly string[]; readonly environment: Readonly<Record<string, string>> };
  /** Settings for any other process; undefined if there is no C compiler. */
  readonly native: { readonly environment: Readonly<Record<string, string>> } | undefined;
  setNode(aheadS: number): void;
  setNative(aheadS: number): void;
  stop(): Promise<void>;
}

/** Overrides the C library: `CLOCK_REALTIME` is ahead by the seconds in the first eight bytes of a file. */
const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static const volatile long *ahead;
__attribute__((constructor)) static void attach(void) {
  int file = open(getenv("TEST_CLOCK"), O_RDONLY);
  void *mapped = mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) ahead = mapped;
}
int clock_gettime(clockid_t id, struct timespec *at) {
  int result = syscall(SYS_clock_gettime, id, at);
  if (ahead && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec += *ahead;
  return result;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  struct timespec now;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return result;
}
time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
`;

export async function openMovedClocks(): Promise<MovedClocks> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-clock-'));
  const [nodeFile, nativeFile, library] = [join(folder, 'node'), join(folder, 'native'), join(folder, 'clock.so')];
  await writeFile(nodeFile, '0');
  await writeFile(nativeFile, Buffer.alloc(8));
  await writeFile(join(folder, 'clock.c'), source);
  const isBuilt = await promisify(execFile)('cc', ['-shared', '-fPIC', '-o', library, join(folder, 'clock.c')]).then(
    () => true,
    () => false,
  );
  const preload = fileURLToPath(new URL('mains/moved-clock.ts', import.meta.url));
  return {
    node: { flags: ['--import', preload], environment: { TEST_CLOCK: nodeFile } },
    native: isBuilt ? { environment: { TEST_CLOCK: nativeFile, LD_PRELOAD: library } } : undefined,
    setNode(aheadS) {
      writeFileSync(nodeFile, String(aheadS * 1000));
    },
    setNative(aheadS) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(aheadS));
      // Writes in place, because the processes have this file mapped.
      const file = openSync(nativeFile, 'r+');
      writeSync(file, bytes, 0, 8, 0);
      closeSync(file);
    },
    async stop() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}
