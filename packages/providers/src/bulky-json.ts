import { parseJson } from '@sotto/wire';

/** A value of a JSON text that stays as bytes: the inside of a long string, or a whole array of numbers. */
export interface Bulk {
  readonly kind: 'string' | 'numbers';
  /** The pieces in which it arrived. A string comes without its quotes. */
  readonly pieces: readonly Buffer[];
  /** Whether a string has only characters of base64, with its padding last. Such a string has no escapes. */
  readonly isBase64: boolean;
  /** How many numbers the array has, where counting them was cheap. */
  readonly count: number | undefined;
}

/** Length in bytes up to which strings are parsed as usual. */
const longString = 256;
/** Limit of an answer without its bulk, in bytes. */
const maxSkeletonBytes = 8 * 1024 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
const closingBracket = 0x5d;

type State = 'outside' | 'string' | 'after_bracket' | 'numbers';

/**
 * Reads a JSON text without parsing its bulk. Images in base64 and vectors are megabytes that parsing would copy
 * several times.
 *
 * Each long string and each array of numbers is passed to `onBulk` as bytes. In the rest, which is parsed as usual, an
 * array of one number stands for it: its position among the bulk. An array that begins with a number and holds anything
 * else is rejected as invalid.
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

  /** `onBulk` is called each time a value is complete, in the order of the positions. */
  constructor(onBulk: (bulk: Bulk) => void) {
    this.#onBulk = onBulk;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isBroken) at = this.#step(bytes, at);
  }

  /** Returns the parsed text without its bulk; undefined if it is not valid JSON. */
  end(): unknown {
    const isWhole = !this.#isBroken && this.#state === 'outside';
    return isWhole ? parseJson(Buffer.concat(this.#skeleton).toString('utf8')) : undefined;
  }

  /** Consumes bytes of one kind from `at`. Returns the start of the next kind. */
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
    // Skip a quote or a bracket that may begin bulk: the placeholder of the bulk replaces it.
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

  /** The next character decides whether this is an array of numbers. */
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
    const count = found === -1 || this.#pieces.length > 0 ? undefined : countPlainNumbers(piece);
    this.#isBroken = count === undefined && !numbersPiece.test(piece.toString('latin1'));
    this.#collect(piece);
    if (found === -1 || this.#isBroken) return bytes.length;
    this.#pieces = [Buffer.from('['), ...this.#pieces, Buffer.from(']')];
    this.#hand('numbers', count);
    this.#state = 'outside';
    return found + 1;
  }

  #collect(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
  }

  /** Checks piece by piece, so that megabytes are never examined at once. */
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

  #hand(kind: Bulk['kind'], count?: number): void {
    this.#keep(Buffer.from(`[${this.#count}]`));
    this.#count += 1;
    const isBase64 = kind === 'string' && this.#isBase64;
    this.#onBulk({ kind, isBase64, count, pieces: this.#release() });
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

/** More digits before the point could be more than a number holds. */
const maxWholeDigits = 15;

/**
 * Counts the numbers of an array without its brackets, if it has no spaces and no exponents, as most vectors are
 * written. Undefined for anything else, valid or not. It is three times as fast as parsing them.
 */
export function countPlainNumbers(json: Uint8Array): number | undefined {
  let count = 0;
  let at = -1;
  do {
    const from = json[at + 1] === minus ? at + 2 : at + 1;
    at = digitsEnd(json, from);
    if (at === from || at - from > maxWholeDigits || (at - from > 1 && json[from] === zero)) return undefined;
    if (json[at] === point) {
      const decimals = at + 1;
      at = digitsEnd(json, decimals);
      if (at === decimals) return undefined;
    }
    count += 1;
  } while (json[at] === comma);
  return at === json.length ? count : undefined;
}

function digitsEnd(json: Uint8Array, start: number): number {
  let at = start;
  for (; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte < zero || byte > nine) break;
  }
  return at;
}

const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const point = 0x2e;
const comma = 0x2c;

/** Returns the end of a string that begins at `start`, if it is short and complete. */
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
  byte === minus || (byte !== undefined && byte >= zero && byte <= nine);

/** Whether an array of numbers may begin here. Undefined means that the next byte has not arrived. */
const mayBeNumber = (byte: number | undefined): boolean => byte === undefined || isSpace(byte) || isNumberStart(byte);

/** The bulk that a value of the skeleton stands for. Undefined for every other value. */
export const bulkPosition = (value: unknown): number | undefined =>
  Array.isArray(value) && value.length === 1 && typeof value[0] === 'number' ? value[0] : undefined;
