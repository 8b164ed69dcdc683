import { access, constants, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtInRegistry } from '@sotto/confidential';
import { builtInCatalog } from '@sotto/control';
import { demoCatalogEntries, demoRegistryEntry } from './demo/demo-files.ts';

import { StartError } from './service.ts';

export interface ServiceFiles {
  readonly registryFile: string;
  readonly catalogFile: string;
}

/**
 * The registry and catalog to run with: the given files, else the built-in ones with the demo provider added, written
 * to the data directory so that both planes, and whoever wants to look, read the same bytes.
 */
export async function prepareFiles(options: {
  readonly dataDir: string;
  readonly demoUrl: string;
  readonly providersFile: string | undefined;
  readonly catalogFile: string | undefined;
}): Promise<ServiceFiles> {
  const { dataDir, demoUrl } = options;
  await assertReadable('PROVIDERS_FILE', options.providersFile);
  await assertReadable('CATALOG_FILE', options.catalogFile);
  const registryFile = options.providersFile ?? join(dataDir, 'providers.yaml');
  const catalogFile = options.catalogFile ?? join(dataDir, 'catalog.yaml');
  if (options.providersFile === undefined) {
    await writeFile(registryFile, builtInRegistry().bytes.toString('utf8').trimEnd() + demoRegistryEntry(demoUrl));
  }
  if (options.catalogFile === undefined) {
    // A registry of the user's own knows neither the built-in providers nor, perhaps, the demo.
    const builtIn =
      options.providersFile === undefined ? (await readFile(builtInCatalog, 'utf8')).trimEnd() : 'models:';
    await writeFile(catalogFile, builtIn + demoCatalogEntries);
  }
  return { registryFile, catalogFile };
}

async function assertReadable(variable: string, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  await access(file, constants.R_OK).catch(() => {
    throw new StartError(`${variable} is \`${file}\`: it takes the path of a readable file`);
  });
}
