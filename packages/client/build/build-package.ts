import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { readPage } from '../src/playground/page-files.ts';

// Builds the folder that is published as `@sotto/client`, from the source, the declarations that `tsc -b` emitted, and the built
// page of `sotto playground`. Prints the folder and the SHA-256 of the page, which the command prints, too.
// Its one argument is the output folder; the default is `dist/package`.

const here = fileURLToPath(new URL('..', import.meta.url));
const packages = join(here, '..');
const out = process.argv[2] ?? join(here, 'dist/package');

/** The packages to bundle. The declarations also name their types. */
const parts = ['client', 'attestation', 'contract', 'dialects', 'money', 'wire'];

/** `undici` needs it. */
const oldestNode = '22.19.0';

const shared = {
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2024',
  conditions: ['@sotto/source'],
  logLevel: 'warning',
} as const satisfies BuildOptions;

/**
 * Two small files for any Node that knows modules: the program behind `sotto`, and the first import of the library. On a Node that is
 * too old they end with a sentence. Without them, undici would end with a stack trace.
 */
const versionCheck = `const [major, minor] = process.versions.node.split('.').map(Number);
const [oldestMajor, oldestMinor] = '${oldestNode}'.split('.').map(Number);
const isNewEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
`;
const needs = `this is Node ' + process.versions.node + '; it needs Node ${oldestNode} or later. Install one from https://nodejs.org.`;
const launcher = `#!/usr/bin/env node
${versionCheck}if (isNewEnough) {
  import('./sotto.js');
} else {
  console.error('sotto: ${needs}');
  process.exitCode = 2;
}
`;
const nodeVersion = `${versionCheck}if (!isNewEnough) throw new Error('@sotto/client: ${needs}');
`;

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await build({
  ...shared,
  entryPoints: { library: join(here, 'src/index.ts'), sotto: join(here, 'src/command/main.ts') },
  outdir: join(out, 'node'),
  platform: 'node',
  external: ['socks', 'undici', 'zod'],
  // Sigstore's packages are CommonJS and call it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
});
await writeFile(join(out, 'node/launch.js'), launcher, { mode: 0o755 });
await writeFile(join(out, 'node/index.js'), `import './node-version.js';\nexport * from './library.js';\n`);
await writeFile(join(out, 'node/node-version.js'), nodeVersion);
await build({
  ...shared,
  entryPoints: { index: join(here, 'src/browser.ts') },
  outdir: join(out, 'browser'),
  platform: 'browser',
  minify: true,
  // Removes the code that accepts simulated evidence, so that no page can turn it on.
  define: { SOTTO_SIMULATION: 'false' },
});
await copyDeclarations();
await writeFile(join(out, 'package.json'), `${JSON.stringify(await packageManifest(here), undefined, 2)}\n`);
await cp(join(here, 'README.md'), join(out, 'README.md'));
await cp(join(packages, '../LICENSE'), join(out, 'LICENSE'));
const pageSha256 = await copyPage();
console.log(`${out}\nSHA-256 of the playground's page: ${pageSha256}`);

/** Copies the page, and resolves to its digest. */
async function copyPage(): Promise<string> {
  const page = readPage(join(here, 'playground'));
  if (page === undefined) throw new Error('the page of the playground is not built; `npm run package` builds it');
  for (const [name, { bytes }] of page.files) {
    const to = join(out, 'playground', name);
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, bytes);
  }
  return page.sha256;
}

/** Copies the declarations. They name each other by path, so that the published package needs none of the others. */
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
    .replace(/(['"])@sotto\/([\w/]+)\1/g, (_, quote: string, part: string) => {
      const path = relative(folder, join(out, 'types', part, 'index.js'));
      return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
    })
    .replace(/(['"])(\.{1,2}\/[^'"]+)\.ts\1/g, '$1$2.js$1')
    .replace(/^\/\/# sourceMappingURL=.*$/gm, '');
}

/** Returns the published package.json. Bundled code needs only a few of the workspace's dependencies. */
async function packageManifest(folder: string): Promise<object> {
  const own = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
    readonly repository: object;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const { name, version, license, repository, dependencies } = own;
  return {
    name,
    version,
    license,
    // npm compares it with the workflow that publishes the package.
    repository,
    description: 'A private way to a Sotto model router: verified before the first byte of content',
    type: 'module',
    sideEffects: false,
    engines: { node: `>=${oldestNode}` },
    bin: { sotto: './node/launch.js' },
    exports: {
      '.': {
        browser: { types: './types/client/browser.d.ts', default: './browser/index.js' },
        types: './types/client/index.d.ts',
        default: './node/index.js',
      },
    },
    files: ['node', 'browser', 'playground', 'types', 'README.md', 'LICENSE'],
    dependencies: { socks: dependencies.socks, undici: dependencies.undici, zod: dependencies.zod },
  };
}
