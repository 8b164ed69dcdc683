import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { builtPrograms, builtProgramsVariable } from './programs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A package that reads files beside its own. It stays where it is. */
const unbundled = ['pdfkit'];

/** Keeps what our sources find by their own place, such as `catalog.yaml`, and names the unbundled packages by their path. */
const inPlace: Plugin = {
  name: 'in place',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\/(apps|packages)\/[^/]+\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const own = JSON.stringify(pathToFileURL(path).href);
      const contents = text
        .replaceAll(/import\.meta\.resolve\('([^']+)'\)/g, (_, name: string) =>
          JSON.stringify(pathToFileURL(createRequire(path).resolve(name)).href),
        )
        .replaceAll('import.meta.url', own);
      return { contents, loader: 'ts' };
    });
    onResolve({ filter: new RegExp(`^(${unbundled.join('|')})$`) }, ({ path, resolveDir }) => ({
      path: createRequire(`${resolveDir}/x`).resolve(path),
      external: true,
    }));
  },
};

/**
 * Vitest `globalSetup`: bundles the programs whose processes tests start by the hundred. Loading the 1,700 modules of
 * control takes a second of CPU each time, and loading its bundle a quarter of that.
 */
export async function setup(): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [...builtPrograms],
    outbase: '.',
    outdir: 'node_modules/.cache/sotto-programs',
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    conditions: ['@sotto/source'],
    external: ['pg-native'],
    // For the CommonJS packages in the bundle.
    banner: { js: "import { createRequire as of } from 'node:module'; const require = of(import.meta.url);" },
    plugins: [inPlace],
    logLevel: 'error',
  });
  process.env[builtProgramsVariable] = '1';
}
