import { readFileSync } from 'node:fs';
import { type Bytes, fromHex, type RandomBytes } from '../bytes.ts';

/** Reads a file of `packages/client/vectors`. */
export const vector = <Shape>(name: string): Shape => JSON.parse(vectorText(name)) as Shape;

export const vectorText = (name: string): string =>
  readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), 'utf8');

/** Fixed randomness for known answers. Returns these values in order; throws for another length or a further call. */
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
