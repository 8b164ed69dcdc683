import { writeFileSync } from 'node:fs';

/**
 * Has the kernel put none of this process' memory into a dump (core(5)): it holds the service's secrets, and keys and
 * passwords on their way to being hashed. Where there is no such setting, the limit on core dumps is all there is.
 */
export function keepMemoryOutOfDumps(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0');
  } catch {
    // Not Linux, or /proc is not to be written.
  }
}
