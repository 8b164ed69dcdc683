import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'corpus');

/** An input that was kept: under a hash where a run found it, and under a name where a person or a finding gave it. */
interface KeptInput {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A line of a corpus file: the bytes as text where they are UTF-8, so that people can read a change. */
type Line = { readonly name: string } & ({ readonly text: string } | { readonly base64: string });

/** What is kept for a target, in the order of the names. */
export const readCorpus = (target: string): Buffer[] => readKept(target).map(({ bytes }) => bytes);

function readKept(target: string): KeptInput[] {
  const file = fileOf(target);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((text) => {
    const line = JSON.parse(text) as Line;
    const bytes = 'text' in line ? Buffer.from(line.text) : Buffer.from(line.base64, 'base64');
    return { name: line.name, bytes };
  });
}

const isFound = ({ name }: KeptInput): boolean => /^[0-9a-f]{12}$/.test(name);

/** Replaces what was found by running; inputs under other names stay. */
export function writeCorpus(target: string, inputs: readonly Uint8Array[]): void {
  const named = readKept(target).filter((kept) => !isFound(kept));
  writeKept(target, [...named, ...inputs.map((input) => ({ name: nameOf(input), bytes: Buffer.from(input) }))]);
}

/** Puts what broke a promise into the corpus, so that every replay breaks until it is mended. Returns its file and name. */
export function keepFinding(target: string, input: Uint8Array): string {
  const name = `finding-${nameOf(input)}`;
  writeKept(target, [...readKept(target).filter((kept) => kept.name !== name), { name, bytes: Buffer.from(input) }]);
  return `${fileOf(target)} (${name})`;
}

function writeKept(target: string, inputs: readonly KeptInput[]): void {
  const sorted = inputs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lines = sorted.map(
    ({ name, bytes }): Line =>
      isUtf8(bytes) ? { name, text: bytes.toString() } : { name, base64: bytes.toString('base64') },
  );
  writeFileSync(fileOf(target), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

const fileOf = (target: string): string => join(folder, `${target}.jsonl`);

const nameOf = (input: Uint8Array): string => createHash('sha256').update(input).digest('hex').slice(0, 12);
