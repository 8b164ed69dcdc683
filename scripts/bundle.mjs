// Bundles a program and its libraries into a few files. Loading them takes a third of the time of loading 1,700 modules.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** Packages that read files beside their own code. They stay packages. */
export const unbundled = ['pdfkit'];

/** Puts the Lua scripts of the shared state into a bundle, in place of the module that reads their files. */
const luaFiles = {
  name: 'lua files',
  setup(builds) {
    builds.onLoad({ filter: /[\\/]lua-files\.ts$/ }, async ({ path }) => {
      const { luaFiles } = await import(pathToFileURL(path).href);
      return { contents: `export const luaFiles = ${JSON.stringify(luaFiles)};` };
    });
  },
};

/**
 * Writes the bundles of `entries`, sources by the name of their bundle, into the folder `out`. The bytes depend only on the
 * sources and the lockfile. Resolves to the paths of all sources, relative to the root of the project.
 */
export async function bundle({ root, entries, out }) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: Object.entries(entries).map(([name, source]) => ({ in: join(root, source), out: name })),
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // Comments would stay in memory with the source, and one letter that is not ASCII doubles it. Licences get files of their own.
    minifyWhitespace: true,
    legalComments: 'external',
    target: `node${process.versions.node}`,
    conditions: ['@sotto/source'],
    external: [...unbundled, 'pg-native'],
    plugins: [luaFiles],
    // CommonJS packages call it.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    metafile: true,
    logLevel: 'error',
  });
  return Object.keys(metafile.inputs);
}
