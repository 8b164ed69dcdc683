import { Refusal } from '../refusal.ts';

const maximumDepth = 16;

/**
 * RFC 8785 (JCS) for the values in our documents: text, integers that a double holds exactly, true, false, null, lists
 * and objects. Refuses anything else, above all floating point, which implementations write differently.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  if (depth > maximumDepth) throw new Refusal('a document is nested too deeply');
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return writeText(value);
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || Object.is(value, -0))
      throw new Refusal('a document has a number that is no integer');
    return String(value);
  }
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`;
  if (typeof value !== 'object') throw new Refusal(`a document has a ${typeof value} in it`);
  // Sorts by code units, as JavaScript does and RFC 8785 requires.
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([name, member]) => `${writeText(name)}:${write(member, depth + 1)}`).join(',')}}`;
}

function writeText(text: string): string {
  if (!text.isWellFormed()) throw new Refusal('a document has text that is not Unicode');
  return JSON.stringify(text);
}
