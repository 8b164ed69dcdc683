import { Refusal } from '../refusal.ts';

/** What WebCrypto takes: a view on plain, unshared memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/**
 * A private copy of bytes that someone else holds, so that they cannot change between check and use.
 * Refuses what is no byte array, and more than `maximum` bytes before anything is copied.
 */
export function ownBytes(value: unknown, what: string, maximum: number): Bytes {
  if (!(value instanceof Uint8Array)) throw new Refusal(`${what} is not a byte array`);
  if (value.length > maximum) throw new Refusal(`${what} has ${value.length} bytes, more than ${maximum}`);
  return Uint8Array.from(value);
}

/** Compares public values; nothing here is secret, so time may vary. */
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

/** `value & mask`, byte by byte. Both have one length. */
export function masked(value: Uint8Array, mask: Uint8Array): Bytes {
  return Uint8Array.from(value, (byte, index) => byte & (mask[index] ?? 0));
}
