import { isUtf8 } from 'node:buffer';
import { isObject, parseJson, ServiceError } from '@sotto/wire';

/**
 * Parses a body that arrived as bytes. Throws `invalid_request` with a message of its own, because the parser’s message
 * quotes its input, which may be content.
 */
export function readJsonBody(body: unknown): object {
  if (!Buffer.isBuffer(body) || body.length === 0) {
    throw new ServiceError('invalid_request', { message: 'The body is empty; send a JSON object.' });
  }
  if (!isUtf8(body)) throw new ServiceError('invalid_request', { message: 'The body is not valid UTF-8.' });
  if (!isJsonWithinBounds(body)) {
    const message =
      'The body holds too many JSON values: at most a million numbers, 110,000 texts, lists and objects, or 40,000 names. Send fewer in one request.';
    throw new ServiceError('invalid_request', { message });
  }
  // Some programs write a byte order mark before UTF-8.
  const text = body.toString('utf8', body.subarray(0, 3).equals(byteOrderMark) ? 3 : 0);
  const parsed = parseJson(text);
  if (parsed === undefined) throw new ServiceError('invalid_request', { message: 'The body is not valid JSON.' });
  if (!isObject(parsed)) throw new ServiceError('invalid_request', { message: 'The body must be a JSON object.' });
  return parsed;
}

const byteOrderMark = Buffer.from('\ufeff');

/**
 * The maximum weight of a JSON body, in units of 30 ns of parsing. An entry weighs 1, a text, a list or an object 8
 * more, and a name 24. So a body may hold a million numbers (such as tokens to embed), 110,000 texts, or 40,000 names.
 * Each of these keeps the parser busy for 10 to 30 ms.
 */
export const maxJsonWeight = 1_000_000;

const quote = 0x22;
const backslash = 0x5c;
/** Weights of bytes outside texts. A text has two quotation marks. */
const weights = new Uint8Array(256);
for (const [character, weight] of Object.entries({ ',': 1, '"': 4, '[': 8, '{': 8, ':': 16 })) {
  weights[character.charCodeAt(0)] = weight;
}
const textWeight = 8;
const mostWeight = 16;
/** Bytes per unit of weight in the heaviest valid JSON: the 5 bytes of `{"":` and `}` weigh 32. */
const leastBytesEach = 5 / 32;

/** The weight of a body up to a place outside its texts. */
interface Count {
  at: number;
  weight: number;
  /** The number of bytes that follow this body. */
  after: number;
  /** The number of bytes that may still be examined one by one. */
  steps: number;
}

/** A number of examined bytes whose cost is negligible beside parsing 156 kB. */
const fewSteps = 32 * 1024;

/**
 * Whether JSON text stays within the bound above, determined without parsing it. A body below 156 kB is within it
 * without being read. In a larger one, it skips long texts, then weighs the rest as if there were no texts. It looks
 * closer only if that result is too heavy.
 */
export function isJsonWithinBounds(bytes: Buffer): boolean {
  const count: Count = { at: 0, weight: 0, after: 0, steps: fewSteps };
  if (isSafe(0, bytes.length)) return true;
  const isBounded = weighOutsideTexts(bytes, count);
  if (isBounded !== undefined) return isBounded;
  if (isBoundedWithTexts(bytes, count)) return true;
  count.steps = Number.POSITIVE_INFINITY;
  return weighOutsideTexts(bytes, count) === true;
}

/** Whether several JSON texts together stay within the bound, such as those that a request carries as strings. */
export function areJsonTextsWithinBounds(texts: readonly string[]): boolean {
  let after = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (isSafe(0, after)) return true;
  let weight = 0;
  for (const text of texts) {
    const bytes = Buffer.from(text);
    after -= bytes.length;
    const count: Count = { at: 0, weight, after, steps: Number.POSITIVE_INFINITY };
    if (weighOutsideTexts(bytes, count) !== true) return false;
    weight = count.weight;
  }
  return true;
}

/** Whether this many more bytes cannot exceed the bound. */
const isSafe = (weight: number, bytes: number): boolean => weight + bytes / leastBytesEach <= maxJsonWeight;

/** Continues the count. Returns whether the whole body is within the bound, or undefined when no steps are left. */
function weighOutsideTexts(bytes: Buffer, count: Count): boolean | undefined {
  for (; count.at < bytes.length; count.at += 1, count.steps -= 1) {
    if (count.steps < 0) return undefined;
    const byte = bytes[count.at] ?? 0;
    if (byte === quote) {
      if (isSafe(count.weight, bytes.length - count.at + count.after)) return true;
      const end = textEnd(bytes, count);
      if (end === undefined) return undefined;
      count.at = end;
      count.weight += textWeight;
    } else count.weight += weights[byte] ?? 0;
    if (count.weight > maxJsonWeight) return false;
  }
  return true;
}

/** Above this length, a native search finds the end of a text faster than a loop over its bytes. */
const shortText = 48;

/**
 * Returns the index of the closing quote of the text that begins here, or the body’s length. Undefined when no steps
 * are left.
 */
function textEnd(bytes: Buffer, count: Count): number | undefined {
  for (let at = count.at + 1; count.steps >= 0; count.steps -= shortText) {
    const near = Math.min(bytes.length, at + shortText);
    while (at < near) {
      if (bytes[at] === quote) return at;
      at += bytes[at] === backslash ? 2 : 1;
    }
    const found = bytes.indexOf(quote, at);
    if (found === -1) return bytes.length;
    let slashes = 0;
    while (found - slashes > at && bytes[found - slashes - 1] === backslash) slashes += 1;
    if (slashes % 2 === 0) return found;
    at = found + 1;
  }
  return undefined;
}

/** Weights of two bytes at a time, which halves the look-ups. */
const pairWeights = new Uint8Array(0x10000);
for (let pair = 0; pair < pairWeights.length; pair += 1) {
  pairWeights[pair] = (weights[pair & 0xff] ?? 0) + (weights[pair >> 8] ?? 0);
}
/** The number of pairs between two comparisons with the bound. */
const blockPairs = 4096;

/** Whether the rest of the body stays within the bound even if the bytes inside its texts counted. */
function isBoundedWithTexts(bytes: Buffer, count: Count): boolean {
  // Pairs must start at an even address. A byte before the first and one after the last pair count as the heaviest.
  const from = count.at + ((bytes.byteOffset + count.at) % 2);
  const pairs = new Uint16Array(bytes.buffer, bytes.byteOffset + from, (bytes.length - from) >> 1);
  let weight = count.weight + 2 * mostWeight;
  for (let start = 0; start < pairs.length; start += blockPairs) {
    if (isSafe(weight, bytes.length - from - 2 * start)) return true;
    const end = Math.min(pairs.length, start + blockPairs);
    for (let at = start; at < end; at += 1) weight += pairWeights[pairs[at] ?? 0] ?? 0;
    if (weight > maxJsonWeight) return false;
  }
  return true;
}
