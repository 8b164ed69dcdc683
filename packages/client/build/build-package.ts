import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { packageManifest } from './package-manifest.ts';

// Makes the folder that is published as `@sotto/client`, from source and from the declarations that `tsc -b` left. Its one
// argument is where to; by default `dist/package`.

const here = fileURLToPath(new URL('..', import.meta.url));
const packages = join(here, '..');
const out = process.argv[2] ?? join(here, 'dist/package');

/** The packages whose code is bundled, and whose types the declarations name. */
const parts = ['client', 'attestation', 'money', 'wire'];

const shared = {
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2024',
  conditions: ['@sotto/source'],
  logLevel: 'warning',
} as const satisfies BuildOptions;

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await build({
  ...shared,
  entryPoints: { index: join(here, 'src/index.ts'), sotto: join(here, 'src/command/main.ts') },
  outdir: join(out, 'node'),
  platform: 'node',
  external: ['undici', 'zod'],
});
await build({
  ...shared,
  entryPoints: { index: join(here, 'src/browser.ts') },
  outdir: join(out, 'browser'),
  platform: 'browser',
  minify: true,
  // No page can be told to accept simulated evidence.
  define: { SOTTO_SIMULATION: 'false' },
});
await copyDeclarations();
await writeFile(join(out, 'package.json'), `${JSON.stringify(await packageManifest(here), undefined, 2)}\n`);
await cp(join(here, 'README.md'), join(out, 'README.md'));
await cp(join(packages, '../LICENSE'), join(out, 'LICENSE'));
console.log(out);

/** Declarations name each other by path, so that the package needs none of the others. */
async function copyDeclarations(): Promise<void> {
  for (const part of parts) {
    const from = join(packages, part, 'dist');
    const names = await readdir(from, { recursive: true });
    for (const name of names.filter(
      (each) => each.endsWith('.d.ts') && !/(?:^|\/)testing\/|\.test\.d\.ts$|^(?:package|build)\//.test(each),
    )) {
      const to = join(out, 'types', part, name);
      await mkdir(dirname(to), { recursive: true });
      await writeFile(to, withPaths(await readFile(join(from, name), 'utf8'), dirname(to)));
    }
  }
}

function withPaths(declaration: string, folder: string): string {
  return declaration
    .replace(/(['"])@sotto\/(\w+)\1/g, (_, quote: string, part: string) => {
      const path = relative(folder, join(out, 'types', part, 'index.js'));
      return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
    })
    .replace(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '');
}
