import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '..', 'corpus.jsonl');

/** A stored input. Its name is a hash if a run found it. A person or a finding gives it another name. */
interface KeptInput {
  readonly target: string;
  readonly name: string;
  readonly bytes: Buffer;
}

/** A line of the corpus. UTF-8 inputs are stored as text, so that changes are readable. */
type Line = { readonly target: string; readonly name: string } & (
  | { readonly text: string }
  | { readonly base64: string }
);

/** Returns the stored inputs of a target, sorted by name. */
export const readCorpus = (target: string): Buffer[] =>
  readKept()
    .filter((kept) => kept.target === target)
    .map(({ bytes }) => bytes);

function readKept(): KeptInput[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((text) => {
    const line = JSON.parse(text) as Line;
    const bytes = 'text' in line ? Buffer.from(line.text) : Buffer.from(line.base64, 'base64');
    return { target: line.target, name: line.name, bytes };
  });
}

const isFound = ({ name }: KeptInput): boolean => /^[0-9a-f]{12}$/.test(name);

/** Replaces the inputs that runs of the target have found. Inputs with other names stay. */
export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const others = readKept().filter((kept) => kept.target !== target || !isFound(kept));
  const found = inputs.map((input) => ({ target, name: nameOf(input), bytes: Buffer.from(input) }));
  writeKept([...others, ...found]);
}

/**
 * Adds an input that broke a promise to the corpus, so that every replay fails until the bug is fixed. Returns its file
 * and name.
 */
export function keepFinding(target: string, input: Uint8Array): string {
  const name = `finding-${nameOf(input)}`;
  const others = readKept().filter((kept) => kept.target !== target || kept.name !== name);
  writeKept([...others, { target, name, bytes: Buffer.from(input) }]);
  return `${file} (${name})`;
}

function writeKept(inputs: readonly KeptInput[]): void {
  const place = ({ target, name }: KeptInput): string => `${target} ${name}`;
  const sorted = inputs.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
  const lines = sorted.map(
    ({ target, name, bytes }): Line =>
      isUtf8(bytes) ? { target, name, text: bytes.toString() } : { target, name, base64: bytes.toString('base64') },
  );
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

const nameOf = (input: Uint8Array): string => createHash('sha256').update(input).digest('hex').slice(0, 12);
