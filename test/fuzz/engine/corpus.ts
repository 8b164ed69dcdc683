import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'corpus');

/** A kept input, under the name of its file. One that was a finding once is named for what it found. */
export interface KeptInput {
  readonly file: string;
  readonly bytes: Buffer;
}

/** What is kept for a target, in the order of the file names. */
export function readCorpus(target: string): KeptInput[] {
  const own = join(folder, target);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .sort()
    .map((file) => ({ file, bytes: readFileSync(join(own, file)) }));
}

const isFound = (file: string): boolean => /^[0-9a-f]{12}$/.test(file);

/** Replaces what was found by running; inputs under names that people gave stay. */
export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const own = join(folder, target);
  mkdirSync(own, { recursive: true });
  for (const file of readdirSync(own)) if (isFound(file)) rmSync(join(own, file));
  for (const input of inputs) writeFileSync(join(own, nameOf(input)), input);
}

/** Puts what broke a promise into the corpus, so that every replay breaks until it is mended. Answers the file's name. */
export function keepFinding(target: string, input: Uint8Array): string {
  const own = join(folder, target);
  mkdirSync(own, { recursive: true });
  const file = `finding-${nameOf(input)}`;
  writeFileSync(join(own, file), input);
  return join(own, file);
}

const nameOf = (input: Uint8Array): string => createHash('sha256').update(input).digest('hex').slice(0, 12);
