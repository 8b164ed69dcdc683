import type { AttemptOutcome } from '@sotto/router';
import { countEmbeddingInputs, type EmbeddingsRequest, parseJson } from '@sotto/wire';
import type { AnswerReader, AnswerReading, EmbeddingsResult, ReportedUsage } from './adapter.ts';
import { type Bulk, BulkyJson, bulkPosition } from './bulky-json.ts';
import { asArray, asCount, asObject, type JsonObject } from './json.ts';

/** An API's answer, without the vectors themselves. */
export interface VectorsAnswer {
  /** The failure that the answer reports instead of vectors, with status 200. */
  readonly failure?: AttemptOutcome | undefined;
  /** One entry for each vector, with the index of its input if the API sends it. Undefined if there are none. */
  readonly entries?: readonly { readonly vector: unknown; readonly index?: unknown }[] | undefined;
  readonly reported?: ReportedUsage | undefined;
}

/**
 * Reads vectors as they arrive and converts them to the encoding that the request asked for. If the provider used that
 * encoding, the bytes of a vector stay unchanged, so that no number is parsed and rewritten.
 */
export class VectorsReader implements AnswerReader<EmbeddingsResult> {
  readonly #request: EmbeddingsRequest;
  readonly #read: (answer: JsonObject) => VectorsAnswer;
  readonly #vectors: (WrittenVector | undefined)[] = [];
  readonly #json = new BulkyJson((bulk) => this.#vectors.push(this.#write(bulk)));

  readonly #scales: boolean;

  /**
   * `read` gets the answer without its vectors and returns their positions. `scales`: the API's vectors may have a
   * length other than 1 and are scaled to it.
   */
  constructor(request: EmbeddingsRequest, read: (answer: JsonObject) => VectorsAnswer, { scales = false } = {}) {
    this.#request = request;
    this.#read = read;
    this.#scales = scales;
  }

  push(bytes: Buffer): void {
    this.#json.push(bytes);
  }

  end(): AnswerReading<EmbeddingsResult> {
    const raw = asObject(this.#json.end());
    if (raw === undefined) return { ok: false, outcome: 'malformed_answer' };
    const { failure, entries, reported } = this.#read(raw);
    if (failure !== undefined) return { ok: false, outcome: failure };
    const vectors = this.#inOrder(entries);
    if (vectors === undefined) return { ok: false, outcome: 'malformed_answer' };
    const { dimensions } = this.#request;
    // A provider without `dimensions` may ignore it. Another provider may support it.
    if (dimensions != null && vectors[0]?.dimensions !== dimensions) return { ok: false, outcome: 'unprocessable' };
    return {
      ok: true,
      answer: { vectors: vectors.map(({ json }) => json), dimensions: vectors[0]?.dimensions ?? 0 },
      reported,
      producedBytes: 0,
    };
  }

  get #encoding(): VectorEncoding {
    return this.#request.encoding_format ?? 'float';
  }

  #write({ kind, pieces, isBase64, count }: Bulk): WrittenVector | undefined {
    if (kind === 'string' && !isBase64) return undefined;
    const isKept = !this.#scales && this.#encoding === 'float';
    if (count !== undefined && isKept) return { json: pieces, dimensions: count };
    const text = Buffer.concat(pieces).toString('latin1');
    if (kind === 'string') return writeVector(text, this.#encoding);
    const numbers = numbersOf(text);
    if (numbers === undefined || !isVector(numbers)) return undefined;
    const scaled = this.#scales ? toUnitLength(numbers) : numbers;
    return scaled === numbers && this.#encoding === 'float'
      ? { json: pieces, dimensions: numbers.length }
      : writeVector(scaled, this.#encoding);
  }

  /**
   * Returns the vectors in the order of the inputs. Undefined unless there is one for each input and all have one
   * length.
   */
  #inOrder(entries: VectorsAnswer['entries']): readonly WrittenVector[] | undefined {
    if (entries === undefined || entries.length !== countEmbeddingInputs(this.#request.input)) return undefined;
    const vectors: WrittenVector[] = [];
    for (const [position, entry] of entries.entries()) {
      const vector = this.#vectorOf(entry.vector);
      const index = entry.index == null ? position : asCount(entry.index);
      if (vector === undefined || index === undefined || index in vectors || index >= entries.length) return undefined;
      vectors[index] = vector;
    }
    return vectors.every(({ dimensions }) => dimensions === vectors[0]?.dimensions) ? vectors : undefined;
  }

  #vectorOf(value: unknown): WrittenVector | undefined {
    const position = bulkPosition(value);
    if (position !== undefined) return this.#vectors[position];
    return typeof value === 'string' ? writeVector(value, this.#encoding) : undefined;
  }
}

/** Returns the numbers of a JSON array; undefined if it is not one. */
function numbersOf(text: string): readonly number[] | undefined {
  const values = asArray(parseJson(text));
  return values?.every((value) => typeof value === 'number') ? values : undefined;
}

/** The encoding that the client asked for: numbers, or base64 of little-endian 32-bit floats. */
type VectorEncoding = 'float' | 'base64';

/** The JSON text of a vector, in the pieces that the answer writes. */
interface WrittenVector {
  readonly json: readonly Buffer[];
  readonly dimensions: number;
}

/**
 * Converts a vector of numbers or base64. From base64 to numbers it is exact. From numbers to base64 it rounds to
 * 32-bit floats, as that encoding requires. Returns undefined if the value is empty, does not hold whole floats, or
 * holds a value that is not finite in that encoding.
 */
function writeVector(value: readonly number[] | string, encoding: VectorEncoding): WrittenVector | undefined {
  if (typeof value === 'string') {
    const floats = bytesOf(value);
    if (floats === undefined) return undefined;
    const json = encoding === 'base64' ? `"${value}"` : numbersJson(floatsOf(floats));
    return { json: [Buffer.from(json, 'latin1')], dimensions: floats.length / 4 };
  }
  if (!isVector(value)) return undefined;
  const base64 = encoding === 'base64' ? base64Of(value) : undefined;
  if (encoding === 'base64' && base64 === undefined) return undefined;
  return { json: [Buffer.from(base64 ?? numbersJson(value), 'latin1')], dimensions: value.length };
}

/** Scales numbers to length 1, as users of OpenAI's shape expect. A dot product is then a cosine. */
function toUnitLength(numbers: readonly number[]): readonly number[] {
  const length = Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0));
  // A vector that already has this length keeps its digits. A zero vector has no direction.
  return length === 0 || Math.abs(length - 1) < 1e-3 ? numbers : numbers.map((value) => value / length);
}

/** Whether the numbers form a vector: at least one, all finite. */
const isVector = (numbers: readonly number[]): boolean => numbers.length > 0 && numbers.every(Number.isFinite);

/** Decodes floats from base64 to bytes. Undefined if they are not whole floats, or one is not finite. */
function bytesOf(base64: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  // A float with all exponent bits set is infinite or not a number. Little-endian floats end with the exponent.
  for (let at = 3; at < bytes.length; at += 4) {
    if (((bytes[at] ?? 0) & 0x7f) === 0x7f && ((bytes[at - 1] ?? 0) & 0x80) !== 0) return undefined;
  }
  return bytes;
}

const floatsOf = (floats: Buffer): number[] =>
  Array.from({ length: floats.length / 4 }, (_, i) => floats.readFloatLE(i * 4));

/** Returns the JSON string of numbers as floats; undefined if one of them is out of range. */
function base64Of(numbers: readonly number[]): string | undefined {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [i, value] of numbers.entries()) {
    if (!Number.isFinite(Math.fround(value))) return undefined;
    bytes.writeFloatLE(value, i * 4);
  }
  return `"${bytes.toString('base64')}"`;
}

/** Keeps the sign of a negative zero, which `JSON.stringify` loses. */
const numbersJson = (numbers: readonly number[]): string =>
  `[${numbers.map((value) => (Object.is(value, -0) ? '-0.0' : String(value))).join(',')}]`;
