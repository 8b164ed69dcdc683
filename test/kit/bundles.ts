import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from '../../scripts/bundle.mjs';
import { bundledPrograms, bundledVariable } from './programs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Vitest `globalSetup`: bundles the programs that tests start by the hundred, as for the images. */
export async function setup(): Promise<void> {
  await Promise.all(
    Object.entries(bundledPrograms).map(([source, file]) =>
      bundle({ root, entries: { [basename(file, '.js')]: source }, out: join(root, dirname(file)) }),
    ),
  );
  process.env[bundledVariable] = '1';
}
