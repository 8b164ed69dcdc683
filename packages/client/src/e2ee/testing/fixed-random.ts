import { type Bytes, fromHex, type RandomBytes } from '../bytes.ts';

/** Randomness of known answers: gives each of these, in order, and refuses another length or one more. */
export function fixedRandom(...hexes: readonly string[]): RandomBytes {
  const left = hexes.map(bytesOf);
  return (length) => {
    const next = left.shift();
    if (next?.length !== length) throw new Error(`No ${length} fixed bytes are left.`);
    return next;
  };
}

export function bytesOf(hex: string): Bytes {
  const bytes = fromHex(hex);
  if (bytes === undefined) throw new Error('A known answer is no hex.');
  return bytes;
}
