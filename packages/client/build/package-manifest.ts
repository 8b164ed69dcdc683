import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The package.json that is published: bundled code needs few of the workspace's dependencies. */
export async function packageManifest(folder: string): Promise<object> {
  const own = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const { name, version, license, dependencies } = own;
  return {
    name,
    version,
    license,
    description: 'A private way to a Sotto model router: verified before the first byte of content',
    type: 'module',
    sideEffects: false,
    engines: { node: '>=22.19.0' },
    bin: { sotto: './node/sotto.js' },
    exports: {
      '.': {
        browser: { types: './types/client/browser.d.ts', default: './browser/index.js' },
        types: './types/client/index.d.ts',
        default: './node/index.js',
      },
    },
    files: ['node', 'browser', 'types', 'README.md', 'LICENSE'],
    dependencies: { undici: dependencies.undici, zod: dependencies.zod },
  };
}
