import type { SeededRandom } from './seeded-random.ts';

/** Values that are typical for lengths, tags and versions, or that often break their readers. */
const telling = [0x00, 0x01, 0x02, 0x05, 0x06, 0x30, 0x31, 0x7f, 0x80, 0x81, 0x82, 0x84, 0xa0, 0xa3, 0xfe, 0xff];

/** A broken copy: one to four changes of bits, bytes, ranges or length. */
export function mutateBytes(seed: Uint8Array, random: SeededRandom): Uint8Array {
  let bytes: Uint8Array = Uint8Array.from(seed);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) bytes = mutateOnce(bytes, random);
  return bytes;
}

function mutateOnce(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const at = random.below(bytes.length + 1);
  const length = 1 + random.below(16);
  switch (random.below(7)) {
    case 0:
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = random.below(256);
      return bytes;
    case 2:
      bytes[at] = telling[random.below(telling.length)] ?? 0;
      return bytes;
    case 3:
      return bytes.fill(telling[random.below(telling.length)] ?? 0, at, at + length);
    case 4:
      return bytes.slice(0, at);
    case 5:
      return removeRange(bytes, at, length);
    default:
      return repeatRange(bytes, at, length * 8);
  }
}

function removeRange(bytes: Uint8Array, at: number, length: number): Uint8Array {
  const shorter = new Uint8Array(Math.max(at, bytes.length - length));
  shorter.set(bytes.subarray(0, at));
  shorter.set(bytes.subarray(at + length), at);
  return shorter;
}

function repeatRange(bytes: Uint8Array, at: number, length: number): Uint8Array {
  const repeated = bytes.subarray(at, at + length);
  const longer = new Uint8Array(bytes.length + repeated.length);
  longer.set(bytes.subarray(0, at));
  longer.set(repeated, at);
  longer.set(bytes.subarray(at), at + repeated.length);
  return longer;
}
