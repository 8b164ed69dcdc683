import { readFileSync } from 'node:fs';

/** The readable memory of a process that this one may trace. */
export function memoryOf(pid: number): Buffer[] {
  const { openSync, readSync, closeSync } = process.getBuiltinModule('node:fs');
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, from = '', to = '', may = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? [];
        const length = Number.parseInt(to, 16) - Number.parseInt(from, 16);
        if (!may.startsWith('rw') || !(length < 512 * 1024 * 1024)) return [];
        const part = Buffer.alloc(length);
        try {
          return [part.subarray(0, readSync(memory, part, 0, length, Number.parseInt(from, 16)))];
        } catch {
          return [];
        }
      });
  } finally {
    closeSync(memory);
  }
}
