import { expect, it } from 'vitest';
import { Leaves, leafHash } from './merkle.ts';
import { bundlePaths, logFiles, readBundle } from './tiles.ts';

const entries = Array.from({ length: 70_000 }, (_, index) => new TextEncoder().encode(`entry ${index}`));
const hashes = entries.map(leafHash);
const files = new Map(logFiles(entries, hashes).map(({ path, bytes }) => [path, bytes]));

it('lays out a log as tlog-tiles does', () => {
  // 70,000 entries are 273 whole tiles and 112 hashes; the whole ones are one tile above, and 17 hashes.
  const tiles = ['tile/0/000', 'tile/0/272', 'tile/0/273.p/112', 'tile/1/000', 'tile/1/001.p/17', 'tile/2/000.p/1'];
  expect(tiles.filter((path) => !files.has(path))).toEqual([]);
  expect([...files.keys()].filter((path) => path.startsWith('tile/2/') || path.startsWith('tile/3/'))).toHaveLength(1);
  expect(files.get('tile/0/272')?.length).toBe(256 * 32);
  expect(files.get('tile/1/001.p/17')?.subarray(-32)).toEqual(new Leaves(hashes.slice(272 * 256, 273 * 256)).root);
  expect(files.get('tile/2/000.p/1')).toEqual(new Leaves(hashes.slice(0, 65_536)).root);
});

it('numbers more than a thousand tiles by groups of three digits', () => {
  expect(bundlePaths(256 * 1_234_068).at(-1)).toBe('tile/entries/x001/x234/067');
});

it('gives back the entries of its bundles', () => {
  const read = bundlePaths(entries.length).flatMap((path) => readBundle(files.get(path) ?? new Uint8Array(1)) ?? []);
  expect(read).toEqual(entries);
  expect(readBundle(Uint8Array.of(0, 2, 1))).toBeUndefined();
  expect(readBundle(Uint8Array.of(0))).toBeUndefined();
});
