/** A value of a JSON text that was left as bytes: the inside of a long string, or a whole array of numbers. */
export interface Bulk {
  readonly kind: 'string' | 'numbers';
  /** In the pieces in which it came; for a string without its quotes. */
  readonly pieces: readonly Buffer[];
  /** Whether a string is written in the alphabet of base64 alone, with its padding last: then it has no escapes. */
  readonly isBase64: boolean;
}

/** Strings up to this long are read as usual. */
const longString = 256;
/** What is left of an answer without its bulk; more than this is no answer that we read. */
const maxSkeletonBytes = 8 * 1024 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
const closingBracket = 0x5d;

type State = 'outside' | 'string' | 'after_bracket' | 'numbers';

/**
 * Reads a JSON text without making values of its bulk: images in base64 and vectors are megabytes that would otherwise
 * be copied several times. Each long string and each array of numbers is handed over as the bytes it came in, and in
 * the rest, which is parsed as usual, an array of one number stands for it: its position among the bulk.
 * An array that begins with a number and has anything else in it is no JSON to this reader.
 */
export class BulkyJson {
  readonly #onBulk: (bulk: Bulk) => void;
  readonly #skeleton: Buffer[] = [];
  #skeletonBytes = 0;
  #state: State = 'outside';
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #isEscaped = false;
  #isBase64 = true;
  #isPadded = false;
  #count = 0;
  #isBroken = false;

  /** `onBulk` is called in the order of the positions, each time a value is whole. */
  constructor(onBulk: (bulk: Bulk) => void) {
    this.#onBulk = onBulk;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isBroken) at = this.#step(bytes, at);
  }

  /** The text without its bulk, parsed; undefined where it is no JSON. */
  end(): unknown {
    if (this.#isBroken || this.#state !== 'outside') return undefined;
    try {
      return JSON.parse(Buffer.concat(this.#skeleton).toString('utf8'));
    } catch {
      return undefined;
    }
  }

  /** Takes what is all of one kind from `at` on; answers where the next begins. */
  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case 'outside':
        return this.#outside(bytes, at);
      case 'string':
        return this.#string(bytes, at);
      case 'after_bracket':
        return this.#afterBracket(bytes, at);
      case 'numbers':
        return this.#numbers(bytes, at);
      default:
        return this.#state satisfies never;
    }
  }

  #outside(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && this.#state === 'outside') {
      if (bytes[at] === quote) {
        const end = shortStringEnd(bytes, at + 1);
        if (end === undefined) this.#state = 'string';
        else at = end;
      } else if (bytes[at] === bracket && mayBeNumber(bytes[at + 1])) {
        this.#state = 'after_bracket';
      } else at += 1;
    }
    // A quote or a bracket that may begin bulk is not kept here: bulk has its own place.
    this.#keep(bytes.subarray(start, at));
    return this.#state === 'outside' ? at : at + 1;
  }

  #string(bytes: Buffer, start: number): number {
    let at = start;
    for (;;) {
      if (this.#isEscaped && at < bytes.length) {
        this.#isEscaped = false;
        at += 1;
      }
      const found = bytes.indexOf(quote, at);
      const end = found === -1 ? bytes.length : found;
      const slash = bytes.subarray(at, end).indexOf(backslash);
      if (slash !== -1) {
        this.#isEscaped = true;
        at += slash + 1;
        if (at < bytes.length) continue;
      }
      const over = found !== -1 && slash === -1;
      const upTo = over ? found : bytes.length;
      this.#collect(bytes.subarray(start, upTo));
      this.#checkBase64(bytes.subarray(start, upTo));
      if (!over) return bytes.length;
      if (this.#pieceBytes > longString) this.#hand('string');
      else this.#keep(Buffer.from('"'), ...this.#release(), Buffer.from('"'));
      this.#state = 'outside';
      return upTo + 1;
    }
  }

  /** What follows a bracket tells whether the array is one of numbers. */
  #afterBracket(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && isSpace(bytes[at])) at += 1;
    if (at === bytes.length) return at;
    this.#state = isNumberStart(bytes[at]) ? 'numbers' : 'outside';
    if (this.#state === 'outside') this.#keep(Buffer.from('['));
    return at;
  }

  #numbers(bytes: Buffer, start: number): number {
    const found = bytes.indexOf(closingBracket, start);
    const piece = bytes.subarray(start, found === -1 ? bytes.length : found);
    this.#isBroken = !numbersPiece.test(piece.toString('latin1'));
    this.#collect(piece);
    if (found === -1 || this.#isBroken) return bytes.length;
    this.#pieces = [Buffer.from('['), ...this.#pieces, Buffer.from(']')];
    this.#hand('numbers');
    this.#state = 'outside';
    return found + 1;
  }

  #collect(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
  }

  /** Piece by piece, so that megabytes are not looked at in one go. */
  #checkBase64(piece: Buffer): void {
    if (!this.#isBase64 || piece.length === 0) return;
    const padding = base64Piece.exec(piece.toString('latin1'))?.[1];
    this.#isBase64 = padding !== undefined && (!this.#isPadded || padding.length === piece.length);
    this.#isPadded ||= padding !== '';
  }

  #release(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#isBase64 = true;
    this.#isPadded = false;
    return pieces;
  }

  #hand(kind: Bulk['kind']): void {
    this.#keep(Buffer.from(`[${this.#count}]`));
    this.#count += 1;
    const isBase64 = kind === 'string' && this.#isBase64;
    this.#onBulk({ kind, isBase64, pieces: this.#release() });
  }

  #keep(...pieces: readonly Buffer[]): void {
    for (const piece of pieces) {
      if (piece.length === 0) continue;
      this.#skeleton.push(piece);
      this.#skeletonBytes += piece.length;
    }
    if (this.#skeletonBytes > maxSkeletonBytes) this.#isBroken = true;
  }
}

const base64Piece = /^[A-Za-z0-9+/]*(=*)$/;

const numbersPiece = /^[\d\s,.eE+-]*$/;

/** Where a string that begins at `start` is over, if it is short and all here. */
function shortStringEnd(bytes: Buffer, start: number): number | undefined {
  const last = Math.min(bytes.length, start + longString);
  for (let at = start; at < last; at += 1) {
    if (bytes[at] === quote) return at + 1;
    if (bytes[at] === backslash) at += 1;
  }
  return undefined;
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const isNumberStart = (byte: number | undefined): boolean =>
  byte === 0x2d || (byte !== undefined && byte >= 0x30 && byte <= 0x39);

/** What may follow a bracket, as far as it is here, where an array of numbers begins. */
const mayBeNumber = (byte: number | undefined): boolean => byte === undefined || isSpace(byte) || isNumberStart(byte);

/** Which bulk a value of the skeleton stands for; undefined for every other value. */
export const bulkPosition = (value: unknown): number | undefined =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'number' ? value[0] : undefined;
