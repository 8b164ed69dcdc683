import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';

/** Minified and compressed sizes in bytes. Each module counts with its static imports. */
interface Sizes {
  readonly entry: number;
  readonly families: Readonly<Record<string, number>>;
  readonly total: number;
  readonly entryText: string;
}

let sizes: Sizes;

beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [new URL('browser.ts', import.meta.url).pathname],
    define: { SOTTO_SIMULATION: 'false' },
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
  const entry = reached('browser.js');
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
  it('loads each family only on first use', () => {
    expect(Object.keys(sizes.families).sort()).toEqual(['chutes', 'near', 'phala', 'tinfoil', 'venice']);
    for (const [family, bytes] of Object.entries(sizes.families)) expect(bytes, family).toBeGreaterThan(1024);
    expect(/secp256k1_|expand 32-byte k|toMontgomery/.test(sizes.entryText)).toBe(false);
  });

  it('weighs less than 110 KB for chat with verification, and less than 155 KB with every family', () => {
    const shown = JSON.stringify({ ...sizes, entryText: undefined });
    expect(sizes.entry, shown).toBeLessThan(110 * 1000);
    expect(sizes.total, shown).toBeLessThan(155 * 1000);
  });

  it('has no option to accept simulated evidence', () => {
    expect(sizes.entryText.includes('hardware_verified')).toBe(true);
    expect(sizes.entryText.includes('allowSimulated')).toBe(false);
  });
});
