import type { Bytes } from '../bytes.ts';

/** Writes a number in `length` bytes, the lowest first. */
export function littleEndian(value: number | bigint, length: number): Bytes {
  const bytes = new Uint8Array(length);
  let rest = BigInt(value);
  for (let at = 0; at < length; at += 1) {
    bytes[at] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

export const u16 = (value: number): Bytes => littleEndian(value, 2);
export const u32 = (value: number): Bytes => littleEndian(value, 4);
export const u64 = (value: number | bigint): Bytes => littleEndian(value, 8);

/** Text as UEFI and its event logs write it: UTF-16, without an end. */
export const utf16 = (text: string): Bytes =>
  Uint8Array.from({ length: 2 * text.length }, (_, at) => (text.charCodeAt(at >> 1) >> (at % 2 === 0 ? 0 : 8)) & 0xff);
