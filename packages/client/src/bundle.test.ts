import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

/** Minified and compressed, in bytes: each module of the bundle with whatever it imports at once. */
interface Sizes {
  readonly entry: number;
  readonly families: Readonly<Record<string, number>>;
  readonly total: number;
  readonly entryText: string;
}

let sizes: Sizes;

beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [new URL('index.ts', import.meta.url).pathname],
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    conditions: ['@sotto/source'],
    outdir: '/out',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const packed = new Map(
    outputFiles.map(({ path, contents }) => [path.slice(path.lastIndexOf('/') + 1), gzipSync(contents).length]),
  );
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([path, output]) => [path.slice(path.lastIndexOf('/') + 1), output]),
  );
  const reached = (name: string, found = new Set<string>()): Set<string> => {
    if (found.has(name)) return found;
    found.add(name);
    for (const { path, kind } of outputs.get(name)?.imports ?? []) {
      if (kind === 'import-statement') reached(path.slice(path.lastIndexOf('/') + 1), found);
    }
    return found;
  };
  const weight = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + (packed.get(name) ?? 0), 0);
  const entry = reached('index.js');
  const families = [...outputs.keys()].filter((name) => /-family-/.test(name));
  sizes = {
    entry: weight(entry),
    families: Object.fromEntries(
      families.map((name) => [
        name.replace(/-family-.*/, ''),
        weight([...reached(name)].filter((part) => !entry.has(part))),
      ]),
    ),
    total: weight(packed.keys()),
    entryText: outputFiles
      .filter(({ path }) => entry.has(path.slice(path.lastIndexOf('/') + 1)))
      .map(({ text }) => text)
      .join(''),
  };
}, 60_000);

describe('the bundle for browsers', () => {
  it('loads each family only when it is used, and the first load without any cryptography of its own', () => {
    expect(Object.keys(sizes.families).sort()).toEqual(['chutes', 'near', 'phala', 'tinfoil', 'venice']);
    expect(sizes.entry).toBeLessThan(8 * 1024);
    for (const [family, bytes] of Object.entries(sizes.families)) expect(bytes, family).toBeGreaterThan(1024);
    expect(sizes.entryText).not.toMatch(/secp256k1_|expand 32-byte k|toMontgomery/);
  });

  it('stays within its share of what the client may weigh', () => {
    expect(sizes.total, JSON.stringify({ ...sizes, entryText: undefined })).toBeLessThan(64 * 1024);
  });
});
