import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtInRegistry } from '@sotto/confidential';
import { builtInCatalog } from '@sotto/control';
import { parseRegistry, type RegistryProvider } from '@sotto/router';
import { demoCatalogEntries, demoProviderId, demoRegistryEntry } from './demo/demo-files.ts';
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
  if (options.catalogFile === undefined) await writeFile(catalogFile, await catalogFor(registryFile));
  return { registryFile, catalogFile };
}

/** The built-in models and the demo's, as far as a registry has their providers. Throws where it has neither. */
async function catalogFor(registryFile: string): Promise<string> {
  const named = new Set((await registryOf(registryFile))?.map(({ id }) => id));
  const builtIn = parseRegistry(builtInRegistry().bytes.toString('utf8'), '');
  const missing = builtIn.ok ? builtIn.value.providers.filter(({ id }) => !named.has(id)) : [];
  const hasDemo = named.has(demoProviderId);
  // What is no registry at all has none: the broker says so, with its lines.
  if (missing.length > 0 && !hasDemo && named.size > 0) {
    const ids = missing.map(({ id }) => `\`${id}\``).join(', ');
    throw new StartError(
      `PROVIDERS_FILE is set without CATALOG_FILE: the built-in catalog has models of ${ids}, which it lacks, so it takes a catalog beside it`,
    );
  }
  const models = missing.length > 0 ? 'models:' : (await readFile(builtInCatalog, 'utf8')).trimEnd();
  return hasDemo || missing.length > 0 ? models + demoCatalogEntries : `${models}\n`;
}

/** The providers of a registry file; undefined where it is no registry, which the broker says with its lines. */
async function registryOf(file: string): Promise<readonly RegistryProvider[] | undefined> {
  const read = parseRegistry(await readFile(file, 'utf8'), '');
  return read.ok ? read.value.providers : undefined;
}

/** The names of the variables with providers' keys that a registry file speaks of. */
export async function namesOfKeys(file: string): Promise<readonly string[]> {
  return ((await registryOf(file)) ?? []).flatMap(({ api_key_env: name }) => name ?? []);
}

async function assertReadable(variable: string, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  await readFile(file).catch(() => {
    throw new StartError(`${variable} is \`${file}\`: it takes the path of a readable file`);
  });
}
