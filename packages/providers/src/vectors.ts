/** How the client wants its vectors: numbers, or base64 of little-endian 32-bit floats. */
export type VectorEncoding = 'float' | 'base64';

/** A vector as the answer has it: its JSON text, in the pieces in which it is written. */
export interface WrittenVector {
  readonly json: readonly Buffer[];
  readonly dimensions: number;
}

/**
 * Writes a vector that a provider gave as numbers or as base64. base64 turned into numbers is exact. Numbers turned
 * into base64 lose what a 32-bit float cannot hold, which is what that encoding means.
 * Undefined where it is no vector: empty, no whole floats, or of what is no finite number in that encoding.
 */
export function writeVector(value: readonly number[] | string, encoding: VectorEncoding): WrittenVector | undefined {
  if (typeof value === 'string') {
    const floats = bytesOf(value);
    if (floats === undefined) return undefined;
    const json = encoding === 'base64' ? `"${value}"` : numbersJson(numbersOf(floats));
    return { json: [Buffer.from(json, 'latin1')], dimensions: floats.length / 4 };
  }
  if (!isVector(value)) return undefined;
  const base64 = encoding === 'base64' ? base64Of(value) : undefined;
  if (encoding === 'base64' && base64 === undefined) return undefined;
  return { json: [Buffer.from(base64 ?? numbersJson(value), 'latin1')], dimensions: value.length };
}

/** Numbers scaled to length 1, as users of the OpenAI shape expect them: a dot product is then a cosine. */
export function toUnitLength(numbers: readonly number[]): readonly number[] {
  const length = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  // What is of that length already stays as it is, digit by digit; what is nothing has no direction.
  return length === 0 || Math.abs(length - 1) < 1e-3 ? numbers : numbers.map((value) => value / length);
}

/** Whether numbers are a vector: some, all of them finite. */
export const isVector = (numbers: readonly number[]): boolean => numbers.length > 0 && numbers.every(Number.isFinite);

/** The floats of base64 as bytes; undefined where they are none, or one of them is not finite. */
function bytesOf(base64: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  // All bits of the exponent, which little-endian floats have last, are an infinity or no number.
  for (let at = 3; at < bytes.length; at += 4) {
    if (((bytes[at] ?? 0) & 0x7f) === 0x7f && ((bytes[at - 1] ?? 0) & 0x80) !== 0) return undefined;
  }
  return bytes;
}

const numbersOf = (floats: Buffer): number[] =>
  Array.from({ length: floats.length / 4 }, (_, i) => floats.readFloatLE(i * 4));

/** The JSON string of numbers as floats; undefined where one of them is beyond what a float holds. */
function base64Of(numbers: readonly number[]): string | undefined {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [i, value] of numbers.entries()) {
    if (!Number.isFinite(Math.fround(value))) return undefined;
    bytes.writeFloatLE(value, i * 4);
  }
  return `"${bytes.toString('base64')}"`;
}

/** `JSON.stringify` loses the sign of a negative zero. */
const numbersJson = (numbers: readonly number[]): string =>
  `[${numbers.map((value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')}]`;
