import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../../packages/providers/src/testing/recordings');

/** Our own recordings of one API: whole bodies, and streams as their payloads. */
export function recorded(pattern: RegExp): {
  readonly whole: readonly Buffer[];
  readonly streams: readonly string[][];
} {
  const files = readdirSync(folder).filter((file) => pattern.test(file));
  const read = (suffix: string): Buffer[] =>
    files.filter((file) => file.endsWith(suffix)).map((file) => readFileSync(join(folder, file)));
  return {
    whole: read('.json'),
    streams: read('.chunks.txt').map((bytes) => shortened(bytes.toString('utf8').trimEnd().split('\n'))),
  };
}

/** Beginning and end: what is in between repeats itself, and short inputs are read sooner. */
const shortened = (payloads: string[]): string[] =>
  payloads.length <= 12 ? payloads : [...payloads.slice(0, 7), ...payloads.slice(-5)];
