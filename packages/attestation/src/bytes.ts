import { Refusal } from './refusal.ts';

/** Bytes that WebCrypto accepts: a view on plain, unshared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Copies bytes that other code holds, so that they cannot change between check and use. Refuses values that are not
 * byte arrays. Refuses more than `maximum` bytes before copying.
 */
export function ownBytes(value: unknown, what: string, maximum: number): Bytes {
  if (!(value instanceof Uint8Array)) throw new Refusal(`${what} is not a byte array`);
  if (value.length > maximum) throw new Refusal(`${what} has ${value.length} bytes, more than ${maximum}`);
  return Uint8Array.from(value);
}

/** Compares public values. Nothing here is secret, so the time may vary. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

export function allZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}

/** `value & mask`, byte by byte. Both must have the same length. */
export function masked(value: Uint8Array, mask: Uint8Array): Bytes {
  return Uint8Array.from(value, (byte, index) => byte & (mask[index] ?? 0));
}

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function toHex(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += hexPairs[byte];
  return hex;
}

/** Reads pairs of hexadecimal digits of either case. Undefined if the text contains anything else. */
export function decodeHex(text: string): Bytes | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

/** Hex of either case to bytes. With `length`, exactly that many. Refuses anything else, including `0x`. */
export function fromHex(text: string, what: string, length?: number): Bytes {
  const bytes = decodeHex(text);
  if (bytes === undefined) throw new Refusal(`${what} is not hex`);
  if (length !== undefined && bytes.length !== length) {
    throw new Refusal(`${what} has ${text.length} hex digits, not ${2 * length}`);
  }
  return bytes;
}

/**
 * Reads RFC 4648 base64 with padding, and only one text for each value. Refuses white space, missing padding and set
 * bits after the last byte. `atob` accepts all three, so it would accept some changed evidence. Undefined if the text
 * is anything else.
 */
export function decodeBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  if (btoa(binary) !== text) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Reads base64 as `decodeBase64` does. Refuses anything else. */
export function fromBase64(text: string, what: string): Bytes {
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw new Refusal(`${what} is not base64`);
  return bytes;
}

/** Reads base64 of evidence. Returns no bytes for anything else: the verifiers then fail their own format check. */
export const evidenceBytes = (base64: string): Bytes => decodeBase64(base64) ?? new Uint8Array(0);

/** Writes RFC 4648 base64 with padding, as `decodeBase64` reads it. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Reads little-endian structures in order. Compares every length with the remaining bytes before using it. */
export class ByteReader {
  readonly #bytes: Bytes;
  readonly #what: string;
  #offset = 0;

  constructor(bytes: Bytes, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  get offset(): number {
    return this.#offset;
  }

  /** The next `length` bytes, as a view. */
  take(length: number): Bytes {
    if (length > this.remaining) {
      throw new Refusal(`${this.#what} ends early: ${length} bytes wanted, ${this.remaining} left`);
    }
    const taken = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    return taken;
  }

  u16(): number {
    const [low = 0, high = 0] = this.take(2);
    return low | (high << 8);
  }

  u32(): number {
    return this.u16() + this.u16() * 0x1_0000;
  }

  u64(): bigint {
    return BigInt(this.u32()) + (BigInt(this.u32()) << 32n);
  }
}
