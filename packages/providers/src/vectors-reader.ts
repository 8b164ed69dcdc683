import type { AttemptOutcome } from '@sotto/router';
import { countEmbeddingInputs, type EmbeddingsRequest } from '@sotto/wire';
import type { AnswerReader, AnswerReading, EmbeddingsResult, ReportedUsage } from './adapter.ts';
import { type Bulk, BulkyJson, bulkPosition } from './bulky-json.ts';
import { asArray, asCount, asObject, type JsonObject, parseJson } from './json.ts';
import { isVector, toUnitLength, type WrittenVector, writeVector } from './vectors.ts';

/** What an API's answer says, but for the vectors themselves. */
export interface VectorsAnswer {
  /** What the answer reports instead of vectors, under status 200. */
  readonly failure?: AttemptOutcome | undefined;
  /** A vector an entry, and which input it is of, where the API says so; undefined where there are none. */
  readonly entries?: readonly { readonly vector: unknown; readonly index?: unknown }[] | undefined;
  readonly reported?: ReportedUsage | undefined;
}

/**
 * Reads vectors as they come and gives them the encoding that the request asked for, whichever the provider chose.
 * Where both are the same, a vector stays the bytes it is: no number is read and written anew.
 */
export class VectorsReader implements AnswerReader<EmbeddingsResult> {
  readonly #request: EmbeddingsRequest;
  readonly #read: (answer: JsonObject) => VectorsAnswer;
  readonly #vectors: (WrittenVector | undefined)[] = [];
  readonly #json = new BulkyJson((bulk) => this.#vectors.push(this.#write(bulk)));

  readonly #scales: boolean;

  /**
   * `read` is given the answer without its vectors, and says where they were. `scales`: the API's vectors may be of
   * another length than 1, and are brought to it.
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
    // A provider that knows no `dimensions` may ignore it; another may be able to do what was asked.
    if (dimensions != null && vectors[0]?.dimensions !== dimensions) return { ok: false, outcome: 'unprocessable' };
    return {
      ok: true,
      answer: { vectors: vectors.map(({ json }) => json), dimensions: vectors[0]?.dimensions ?? 0 },
      reported,
      producedBytes: 0,
    };
  }

  get #encoding(): 'float' | 'base64' {
    return this.#request.encoding_format ?? 'float';
  }

  #write({ kind, pieces, isBase64 }: Bulk): WrittenVector | undefined {
    const text = Buffer.concat(pieces).toString('latin1');
    if (kind === 'string' && !isBase64) return undefined;
    if (kind === 'string') return writeVector(text, this.#encoding);
    const numbers = numbersOf(text);
    if (numbers === undefined || !isVector(numbers)) return undefined;
    const scaled = this.#scales ? toUnitLength(numbers) : numbers;
    if (scaled !== numbers) return writeVector(scaled, this.#encoding);
    return this.#encoding === 'float'
      ? { json: pieces, dimensions: numbers.length }
      : writeVector(numbers, this.#encoding);
  }

  /** The vectors in the order of the inputs, one for each and all of one length; undefined where they are not. */
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

/** The numbers of a JSON array; undefined where it is none. */
function numbersOf(text: string): readonly number[] | undefined {
  const values = asArray(parseJson(text));
  return values?.every((value) => typeof value === 'number') ? values : undefined;
}
