import { type Bytes, concat } from '../bytes.ts';

const longestBlock = 65_535;

/**
 * Packs bytes as gzip (RFC 1952) in stored blocks (RFC 1951, 3.2.4), so its length depends on the length of the bytes alone. Compressed, it
 * would also tell whether a text that somebody put into the conversation occurs elsewhere in it.
 */
export function storedGzip(bytes: Bytes): Bytes {
  const parts: Bytes[] = [Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)];
  for (let at = 0; at === 0 || at < bytes.length; at += longestBlock) {
    const block = bytes.slice(at, at + longestBlock);
    const isLast = at + longestBlock >= bytes.length;
    parts.push(Uint8Array.of(isLast ? 1 : 0), le(block.length, 2), le(~block.length, 2), block);
  }
  return concat(...parts, le(crc32(bytes), 4), le(bytes.length, 4));
}

/** The lowest bytes of a number, the least first. */
const le = (value: number, count: number): Bytes =>
  Uint8Array.from({ length: count }, (_, index) => (value >>> (8 * index)) & 0xff);

const crcOfByte = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

function crc32(bytes: Bytes): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcOfByte[(crc ^ byte) & 0xff] ?? 0);
  return ~crc;
}
