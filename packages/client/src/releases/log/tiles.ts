import { concatBytes } from '@sotto/attestation';
import { type Hash, Leaves } from './merkle.ts';

// The files of a static log: https://c2sp.org/tlog-tiles.

/** The hashes of a whole tile, and the entries of a whole bundle. */
const width = 256;

/** One file, by its path in the log. */
export interface LogFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** All tiles and bundles of a log of these entries. `leaves` are their hashes. */
export function logFiles(entries: readonly Uint8Array[], leaves: readonly Hash[]): LogFile[] {
  const bundles = chunks(entries).map(({ items, at }) => ({
    path: tilePath('entries', at, items.length),
    bytes: concatBytes(...items.flatMap((entry) => [uint16(entry.length), entry])),
  }));
  return [...bundles, ...tilesFrom(0, leaves)];
}

/** The tiles of a level and of those above it. The hash of each whole tile is in the level above. */
function tilesFrom(level: number, hashes: readonly Hash[]): LogFile[] {
  if (hashes.length === 0) return [];
  const tiles = chunks(hashes);
  const files = tiles.map(({ items, at }) => ({
    path: tilePath(String(level), at, items.length),
    bytes: concatBytes(...items),
  }));
  const whole = tiles.filter(({ items }) => items.length === width).map(({ items }) => new Leaves(items).root);
  return [...files, ...tilesFrom(level + 1, whole)];
}

/** The paths of the bundles that have the entries of a log of this size. */
export const bundlePaths = (size: number): string[] =>
  Array.from({ length: Math.ceil(size / width) }, (_, at) =>
    tilePath('entries', at, Math.min(width, size - at * width)),
  );

/** Reads a bundle. Returns undefined if it is malformed. */
export function readBundle(bytes: Uint8Array): Uint8Array[] | undefined {
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = at + 2 + (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
    if (at + 2 > bytes.length || end > bytes.length) return undefined;
    entries.push(bytes.subarray(at + 2, end));
    at = end;
  }
  return entries;
}

const uint16 = (value: number): Uint8Array => Uint8Array.of(value >> 8, value & 0xff);

function chunks<T>(all: readonly T[]): { items: readonly T[]; at: number }[] {
  return Array.from({ length: Math.ceil(all.length / width) }, (_, at) => ({
    items: all.slice(at * width, (at + 1) * width),
    at,
  }));
}

/** Such as `tile/0/x001/x234/067` or, for a tile of 3 hashes, `tile/0/000.p/3`. */
function tilePath(level: string, at: number, length: number): string {
  const groups = String(at)
    .padStart(Math.ceil(String(at).length / 3) * 3, '0')
    .match(/\d{3}/g);
  const path = (groups ?? []).map((group, index, { length: count }) => (index === count - 1 ? group : `x${group}`));
  return `tile/${level}/${path.join('/')}${length === width ? '' : `.p/${length}`}`;
}
