import { listOf, numbered } from '../../../test/faults/hostile/costly-bodies.ts';
import { mutateBytes } from './mutate-bytes.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { FuzzTarget } from './target.ts';

/** Longer inputs are cut. Other tests cover bulk. */
const maxBytes = 16 * 1024;

/**
 * Returns a new input from an old one, sometimes with a part of another. It makes one to four changes that fit the
 * target's grammar.
 */
export function mutateInput(
  { grammar, words = [] }: Pick<FuzzTarget, 'grammar' | 'words'>,
  parent: Uint8Array,
  other: Uint8Array,
  random: SeededRandom,
): Buffer {
  let bytes: Buffer = Buffer.from(parent);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
    const kind = random.below(10);
    if (kind < 2 || (kind > 4 && grammar === 'bytes')) bytes = Buffer.from(mutateBytes(bytes, random));
    else if (kind === 2) bytes = splice(bytes, other, random);
    else if (kind > 3 && grammar === 'json') bytes = Buffer.from(mutateJson(bytes.toString('utf8'), words, random));
    else if (kind > 3 && grammar === 'events') bytes = mutateLines(bytes, words, random);
    else bytes = insertWord(bytes, words, random);
  }
  return bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes;
}

/** Joins the head of one input and the tail of another. */
function splice(head: Buffer, tail: Uint8Array, random: SeededRandom): Buffer {
  return Buffer.concat([head.subarray(0, random.below(head.length + 1)), tail.subarray(random.below(tail.length + 1))]);
}

/** Inserts a word into the text, or replaces a part of it. */
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

/** A value in JSON text, by its start and end. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The parts that a grown input consists of. Each returns text of about the given number of bytes. */
type Growth = (part: string, bytes: number, random: SeededRandom) => string;

const smallValues = ['[]', '{}', '""', '0', 'null', 'true', '-1.5', '{"a":1}', '[1]', '"\\u0001"', '"a b"'];
const smallOf = (random: SeededRandom): string => smallValues[random.below(smallValues.length)] ?? '0';
const nest = (open: string, close: string, bytes: number, inside: string): string => {
  const levels = Math.floor(bytes / (open.length + close.length));
  return open.repeat(levels) + inside + close.repeat(levels);
};

const growths: readonly Growth[] = [
  (part, bytes) => `[${listOf(part, bytes)}]`,
  (_, bytes, random) => `[${listOf(smallOf(random), bytes)}]`,
  (part, bytes) => `{${numbered(bytes, (at) => `"k${at}":${part}`)}}`,
  (_, bytes, random) => `{${numbered(bytes, (at) => `"${at}":${smallOf(random)}`)}}`,
  (_, bytes) => `[${numbered(bytes, (at) => `{"k${at}":0}`)}]`,
  (_, bytes) => `[${numbered(bytes, (at) => `"t${at}"`)}]`,
  (part, bytes) => nest('[', ']', bytes, part),
  (part, bytes) => nest('{"a":', '}', bytes, part),
  (_, bytes) => `"${'lorem '.repeat(bytes / 6)}"`,
  (_, bytes) => `"${'\\"'.repeat(bytes / 2)}"`,
  (_, bytes) => `{"$defs":{${numbered(bytes, (at) => `"d${at + 1}":{"$ref":"#/$defs/d${at}"}`)}},"$ref":"#/$defs/d1"}`,
  (_, bytes) => `{"$defs":{"d":{}},"anyOf":[${listOf('{"$ref":"#/$defs/d"}', bytes)}]}`,
];

/**
 * Grows a small input: one of its values, or a list or an object around it, becomes about the given number of bytes. It
 * grows in a way that parsers and validators find expensive. Text that is not JSON is returned unchanged.
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

/** Returns the positions of the values in JSON text, except names. Empty for other text. */
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

type Container = Record<string, unknown> | unknown[];

/**
 * Changes one value in JSON text: another type, a strange value, dropped, repeated, renamed, wrapped, or a duplicate
 * name. Text that is not JSON is returned unchanged.
 */
export function mutateJson(text: string, words: readonly string[], random: SeededRandom): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const places: [Container, string][] = [];
  collect(value, places);
  if (places.length === 0) return write(strange(words, random), random);
  const [container, key] = places[random.below(places.length)] ?? [{}, ''];
  if (random.below(12) === 0) return saidTwice(value, key, words, random);
  changeAt(container, key, { places, words, random });
  return write(value, random);
}

function collect(value: unknown, places: [Container, string][]): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Container;
  for (const key of Object.keys(container)) {
    places.push([container, key]);
    collect((container as Record<string, unknown>)[key], places);
  }
}

interface ChangeContext {
  readonly places: readonly [Container, string][];
  readonly words: readonly string[];
  readonly random: SeededRandom;
}

function changeAt(container: Container, key: string, { places, words, random }: ChangeContext): void {
  const object = container as Record<string, unknown>;
  const old = object[key];
  switch (random.below(9)) {
    case 0:
      if (Array.isArray(container)) container.splice(Number(key), 1);
      else delete object[key];
      return;
    case 1:
      if (Array.isArray(container)) container.splice(Number(key), 0, structuredClone(old));
      else define(object, nameOf(words, random), structuredClone(old));
      return;
    case 2: {
      const [from, name] = places[random.below(places.length)] ?? [{}, ''];
      object[key] = structuredClone((from as Record<string, unknown>)[name]);
      return;
    }
    case 3:
      object[key] = random.below(2) === 0 ? [old] : { [nameOf(words, random)]: old };
      return;
    case 4:
      if (Array.isArray(container)) container.push(old);
      else {
        delete object[key];
        define(object, nameOf(words, random), old);
      }
      return;
    case 5:
      object[key] =
        typeof old === 'number'
          ? neighbour(old, random)
          : `${(JSON.stringify(old) ?? '').slice(0, 100)}${words[random.below(words.length || 1)] ?? ''}`;
      return;
    case 6:
      object[key] = typeof old === 'string' ? cut(old, random) : (JSON.stringify(old) ?? '');
      return;
    default:
      object[key] = strange(words, random);
  }
}

/** Sets an own property, even for `__proto__`. */
function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

const neighbour = (old: number, random: SeededRandom): number =>
  [old + 1, old - 1, -old, old * 1000, old / 3, Math.trunc(old)][random.below(6)] ?? old;

const cut = (old: string, random: SeededRandom): string =>
  random.below(2) === 0 ? old.slice(0, random.below(old.length + 1)) : old.repeat(2);

function strange(words: readonly string[], random: SeededRandom): unknown {
  const isWord = words.length > 0 && random.below(2) === 0;
  return isWord ? words[random.below(words.length)] : structuredClone(nastyValues[random.below(nastyValues.length)]);
}

const names = ['__proto__', 'constructor', 'prototype', 'toString', 'length', 'then', '', '0', 'x', '\u0000', 'é'];

const nameOf = (words: readonly string[], random: SeededRandom): string =>
  (random.below(2) === 0 ? words[random.below(words.length || 1)] : undefined) ??
  names[random.below(names.length)] ??
  'x';

/** Repeats a name in an object, which is possible only in text. */
function saidTwice(value: unknown, key: string, words: readonly string[], random: SeededRandom): string {
  const text = JSON.stringify(value);
  const said = `${JSON.stringify(key)}:`;
  const at = text.indexOf(said);
  return at === -1
    ? text
    : `${text.slice(0, at)}${said}${JSON.stringify(strange(words, random)) ?? 'null'},${text.slice(at)}`;
}

/** Writes JSON as different serializers do. */
function write(value: unknown, random: SeededRandom): string {
  const text = JSON.stringify(value) ?? 'null';
  switch (random.below(8)) {
    case 0:
      return JSON.stringify(value, null, 1) ?? 'null';
    case 1:
      return text.replaceAll('/', '\\/');
    case 2:
      return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    default:
      return text;
  }
}

/** Strings that often break text readers. */
export const nastyWords: readonly string[] = [
  ...[
    '',
    ' ',
    '\0',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\t',
    '\u2028',
    '\u202e',
    '\ufeff',
    '\ufffd',
    '\u0130',
    'ﬁ',
    'Kelvin: \u212a',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    '\\u0000',
    '\\ud800',
    '\\udc00',
    '\\u',
    ',',
    ':',
    '{}',
    '[]',
    'null',
    'true',
    '-0',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '"__proto__":{"polluted":1},'],
  ...['1e999', '-1e999', '1e-999', '9007199254740993', '-1', '0.1', '18446744073709551616', '1'.repeat(400)],
  ...['data: ', 'data:', 'data: [DONE]\n\n', 'event: error\n', ': ping\n\n', 'id: 7\n', '[DONE]', 'error'],
  ...['../', '%00', '%2e%2e', '%', '%zz', '😀', 'é', '\u0301', 'a'.repeat(300), '['.repeat(90), '{"a":'.repeat(90)],
];

/** Values that often break JSON readers. */
export const nastyValues: readonly unknown[] = [
  ...[null, true, false, 0, -0, 1, -1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, -(2 ** 53), 1e21],
  ...['', ' ', '0', 'null', '__proto__', '\0', '\ud800', '\u202e', 'a'.repeat(300), '\u{1f600}', 'NaN', '-1', '1e3'],
  ...[[], [[]], {}, [null], [{}], [1, 'a'], { a: 1 }, { toString: 1 }, { length: 3 }, { valueOf: 1 }],
];
