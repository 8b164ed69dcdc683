import type { SeededRandom } from '../../../packages/attestation/src/testing/mutate.ts';

/** A value of JSON text, by where it begins and ends. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** What a part of an input is made of when it grows: each is text of about so many bytes. */
type Growth = (part: string, bytes: number, random: SeededRandom) => string;

const repeated = (entry: string, bytes: number): string =>
  Array(Math.max(1, Math.floor(bytes / (entry.length + 1))))
    .fill(entry)
    .join(',');

function numbered(bytes: number, entry: (at: number) => string): string {
  const entries: string[] = [];
  for (let left = bytes; left > 0; left -= (entries.at(-1)?.length ?? 0) + 1) entries.push(entry(entries.length));
  return entries.join(',');
}

const smallValues = ['[]', '{}', '""', '0', 'null', 'true', '-1.5', '{"a":1}', '[1]', '"\\u0001"', '"a b"'];
const smallOf = (random: SeededRandom): string => smallValues[random.below(smallValues.length)] ?? '0';
const nest = (open: string, close: string, bytes: number, inside: string): string => {
  const levels = Math.floor(bytes / (open.length + close.length));
  return open.repeat(levels) + inside + close.repeat(levels);
};

const growths: readonly Growth[] = [
  (part, bytes) => `[${repeated(part, bytes)}]`,
  (_, bytes, random) => `[${repeated(smallOf(random), bytes)}]`,
  (part, bytes) => `{${numbered(bytes, (at) => `"k${at}":${part}`)}}`,
  (_, bytes, random) => `{${numbered(bytes, (at) => `"${at}":${smallOf(random)}`)}}`,
  (_, bytes) => `[${numbered(bytes, (at) => `{"k${at}":0}`)}]`,
  (_, bytes) => `[${numbered(bytes, (at) => `"t${at}"`)}]`,
  (part, bytes) => nest('[', ']', bytes, part),
  (part, bytes) => nest('{"a":', '}', bytes, part),
  (_, bytes) => `"${'lorem '.repeat(bytes / 6)}"`,
  (_, bytes) => `"${'\\"'.repeat(bytes / 2)}"`,
  (_, bytes) => `{"$defs":{${numbered(bytes, (at) => `"d${at + 1}":{"$ref":"#/$defs/d${at}"}`)}},"$ref":"#/$defs/d1"}`,
  (_, bytes) => `{"$defs":{"d":{}},"anyOf":[${repeated('{"$ref":"#/$defs/d"}', bytes)}]}`,
];

/**
 * A large input from a small one: one of its values, or a list or an object around it, grows to about so many bytes in
 * one of the ways that parsers and validators find dear. Text that is no JSON comes back as it is.
 */
export function growJson(text: string, bytes: number, random: SeededRandom): string {
  const spans = valuesOf(text);
  const span = spans[random.below(spans.length || 1)];
  if (span === undefined) return text;
  const part = text.slice(span.start, span.end);
  const growth = growths[random.below(growths.length)];
  const grown = growth === undefined ? part : growth(part.length > 64 ? '0' : part, bytes, random);
  return text.slice(0, span.start) + grown + text.slice(span.end);
}

/** Where the values of JSON text are, names excepted. Empty for other text. */
function valuesOf(text: string): Span[] {
  try {
    JSON.parse(text);
  } catch {
    return [];
  }
  const spans: Span[] = [];
  const open: number[] = [];
  for (const { 0: word, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const end = index + word.length;
    if (word === '[' || word === '{') open.push(index);
    else if (word === ']' || word === '}') spans.push({ start: open.pop() ?? 0, end });
    else if (word !== ',' && word !== ':' && !isName(text, end)) spans.push({ start: index, end });
  }
  return spans;
}

const isName = (text: string, end: number): boolean => /^\s*:/.test(text.slice(end, end + 8));
