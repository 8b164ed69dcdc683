import { mutate, type SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';
import { mutateJson } from './mutate-json.ts';
import { nastyWords } from './nasty.ts';
import type { FuzzTarget } from './target.ts';

/** Longer inputs are cut: what a reader does with bulk is another test's business. */
const maxBytes = 16 * 1024;

/** A new input from an old one and perhaps a part of another: one to four changes that the grammar of the target knows. */
export function mutateInput(
  { grammar, words = [] }: Pick<FuzzTarget, 'grammar' | 'words'>,
  parent: Uint8Array,
  other: Uint8Array,
  random: SeededRandom,
): Buffer {
  let bytes: Buffer = Buffer.from(parent);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
    const kind = random.below(10);
    if (kind < 2) bytes = Buffer.from(mutate(bytes, random));
    else if (kind === 2) bytes = splice(bytes, other, random);
    else if (kind === 3 || grammar === 'bytes') bytes = insertWord(bytes, words, random);
    else if (grammar === 'json') bytes = Buffer.from(mutateJson(bytes.toString('utf8'), words, random));
    else if (grammar === 'events') bytes = mutateLines(bytes, words, random);
    else bytes = insertWord(bytes, words, random);
  }
  return bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes;
}

/** The head of one and the tail of another. */
function splice(head: Buffer, tail: Uint8Array, random: SeededRandom): Buffer {
  return Buffer.concat([head.subarray(0, random.below(head.length + 1)), tail.subarray(random.below(tail.length + 1))]);
}

/** Puts a word into the text, or over a part of it. */
function insertWord(bytes: Buffer, words: readonly string[], random: SeededRandom): Buffer {
  const known = words.length > 0 && random.below(2) === 0 ? words : nastyWords;
  const word = Buffer.from(known[random.below(known.length)] ?? '', 'utf8');
  const at = random.below(bytes.length + 1);
  const over = random.below(2) === 0 ? 0 : random.below(word.length + 1);
  return Buffer.concat([bytes.subarray(0, at), word, bytes.subarray(at + over)]);
}

const payload = /^(\s*data:\s*)?(\{.*\})(\r?)$/;

/** Drops, repeats, swaps or cuts a line, or changes the JSON in it. */
function mutateLines(bytes: Buffer, words: readonly string[], random: SeededRandom): Buffer {
  const lines = bytes.toString('latin1').split('\n');
  const at = random.below(lines.length);
  const line = lines[at] ?? '';
  switch (random.below(8)) {
    case 0:
      lines.splice(at, 1);
      break;
    case 1:
      lines.splice(at, 0, line);
      break;
    case 2: {
      const to = random.below(lines.length);
      lines[at] = lines[to] ?? '';
      lines[to] = line;
      break;
    }
    case 3:
      lines[at] = line.slice(0, random.below(line.length + 1));
      break;
    default: {
      const found = payload.exec(line);
      if (found === null) break;
      const [, lead = '', json = '', end = ''] = found;
      const changed = mutateJson(Buffer.from(json, 'latin1').toString('utf8'), words, random);
      lines[at] = lead + Buffer.from(changed, 'utf8').toString('latin1') + end;
    }
  }
  return Buffer.from(lines.join('\n'), 'latin1');
}
