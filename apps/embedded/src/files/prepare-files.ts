import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtInRegistry } from '@sotto/confidential';
import { builtInCatalog } from '@sotto/control';
import { addProvider, type ProviderFiles, serverEntry, serverKinds, serverModels } from '@sotto/discovery';
import {
  checkCatalog,
  extendsBuiltIn,
  keysOf,
  parseRegistry,
  publicRegistry,
  type RegistryProvider,
} from '@sotto/router';
import { readFileOrPart, StartError } from '@sotto/server';
import { isOwnSecret } from '@sotto/wire';
import type { FileProblem } from '@sotto/yaml';
import { demoCatalogEntries, demoProviderId, demoRegistryEntry } from '../demo/demo-files.ts';
import { writeWhole } from '../kept-file.ts';
import { findLocalServers, type LocalModels, type LocalServer, linesOf } from './local-servers.ts';

export interface ServiceFiles {
  readonly registryFile: string;
  readonly catalogFile: string;
  /** Lines about the model servers on this machine, for the user. */
  readonly localLines: readonly string[];
  /**
   * Looks for model servers again and writes the catalog anew. The registry stays as it was at the start. Resolves to what
   * to tell. Undefined if the operator's own files are in use, which nothing else adds to.
   */
  readonly lookAgain: (() => Promise<readonly string[]>) | undefined;
}

export interface FileOptions {
  readonly dataDir: string;
  readonly demoUrl: string;
  readonly providersFile: string | undefined;
  readonly catalogFile: string | undefined;
  readonly localModels: LocalModels;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Prepares the registry and catalog: the given files, else the built-in ones with the demo provider and the model servers of
 * this machine. Writes them to the data directory, so that both planes read the same bytes and users can look at them.
 * Throws a `StartError` with every problem of both.
 */
export async function prepareFiles(options: FileOptions): Promise<ServiceFiles> {
  const { dataDir, providersFile, catalogFile } = options;
  await assertReadable('PROVIDERS_FILE', providersFile);
  await assertReadable('CATALOG_FILE', catalogFile);
  const files = {
    registryFile: providersFile ?? join(dataDir, 'providers.yaml'),
    catalogFile: catalogFile ?? join(dataDir, 'catalog.yaml'),
  };
  if (providersFile === undefined && catalogFile === undefined)
    return { ...files, ...(await writeOwn(options, files)) };
  if (Array.isArray(options.localModels)) {
    throw new StartError(
      'LOCAL_MODELS is set beside PROVIDERS_FILE or CATALOG_FILE, which nothing adds to: ' +
        'add the server to these files with `npm run control -- provider add URL`',
    );
  }
  if (providersFile === undefined) await writeWhole(files.registryFile, baseRegistry(options.demoUrl));
  if (catalogFile === undefined) await writeWhole(files.catalogFile, await catalogFor(files.registryFile));
  await requireSoundFiles(files.registryFile, files.catalogFile);
  return { ...files, localLines: [], lookAgain: undefined };
}

/** Writes the registry and the catalog of a start without files of the operator. */
async function writeOwn(
  { demoUrl, localModels, environment }: FileOptions,
  { registryFile, catalogFile }: { readonly registryFile: string; readonly catalogFile: string },
): Promise<Pick<ServiceFiles, 'localLines' | 'lookAgain'>> {
  const first = await findLocalServers(localModels);
  const named = namedServers(localModels, first.servers);
  const builtIn = await readFile(builtInCatalog, 'utf8');
  const hasKey = (await builtInProviders()).some((provider) =>
    keysOf(provider).some(({ env }) => stateOfKey(environment[env]) === 'usable'),
  );
  const filesWith = (servers: readonly LocalServer[]): ProviderFiles => {
    let files: ProviderFiles = {
      registry: baseRegistry(demoUrl),
      catalog: builtIn.trimEnd() + demoCatalogEntries({ auto: !hasKey && servers.length === 0 }),
    };
    for (const { id, kind, baseUrl } of named) {
      const server = servers.find((each) => each.id === id && each.baseUrl === baseUrl);
      const models = server === undefined ? [] : serverModels(server, id);
      const added = addProvider(files, { entry: serverEntry(kind, id, baseUrl), models, replaces: false });
      if (!added.ok) throw new StartError(added.problem);
      files = added.files;
    }
    return files;
  };
  const atStart = filesWith(first.servers);
  await writeWhole(registryFile, atStart.registry);
  await writeWhole(catalogFile, atStart.catalog);
  return {
    localLines: linesOf(first.servers, first.unknown),
    async lookAgain() {
      const { servers, unknown } = await findLocalServers(localModels);
      await writeWhole(catalogFile, filesWith(servers).catalog);
      const moved = servers.filter(
        ({ id, baseUrl }) => !named.some((each) => each.id === id && each.baseUrl === baseUrl),
      );
      return [
        ...linesOf(servers, unknown),
        ...moved.map(({ baseUrl }) => `${baseUrl} was not there at the start: start Sotto again to use it`),
      ];
    },
  };
}

/**
 * Returns the servers for the registry: those that were found, and each other kind at its usual port. So a server that starts
 * later can be used without another start.
 */
function namedServers(
  where: LocalModels,
  found: readonly LocalServer[],
): readonly Pick<LocalServer, 'id' | 'kind' | 'baseUrl'>[] {
  if (where !== 'auto') return found;
  const others = (Object.keys(serverKinds) as (keyof typeof serverKinds)[]).filter(
    (kind) => !found.some((server) => server.kind === kind),
  );
  return [
    ...found,
    ...others.map((kind) => ({ id: kind, kind, baseUrl: `http://127.0.0.1:${serverKinds[kind].port}/v1` })),
  ];
}

const baseRegistry = (demoUrl: string): string =>
  builtInRegistry().bytes.toString('utf8').trimEnd() + demoRegistryEntry(demoUrl);

async function builtInProviders() {
  const read = parseRegistry(builtInRegistry().bytes.toString('utf8'), '');
  return read.ok ? read.value.providers : [];
}

/** The built-in and demo models whose providers the registry has. Throws if the registry does not have any of them. */
async function catalogFor(registryFile: string): Promise<string> {
  const named = new Set((await providersOf(registryFile))?.map(({ id }) => id));
  const missing = (await builtInProviders()).filter(({ id }) => !named.has(id));
  const hasDemo = named.has(demoProviderId);
  // A malformed registry is reported with its lines later.
  if (missing.length > 0 && !hasDemo && named.size > 0) {
    const ids = missing.map(({ id }) => `\`${id}\``).join(', ');
    throw new StartError(
      `PROVIDERS_FILE is set without CATALOG_FILE. The built-in catalog needs the providers ${ids}, which your file lacks. Set CATALOG_FILE to a catalog for your providers`,
    );
  }
  if (missing.length === 0) {
    const models = (await readFile(builtInCatalog, 'utf8')).trimEnd();
    return hasDemo ? models + demoCatalogEntries({ auto: true }) : `${models}\n`;
  }
  return `models:${demoCatalogEntries({ auto: true })}`;
}

async function assertReadable(variable: string, file: string | undefined): Promise<void> {
  if (file === undefined) return;
  await readFileOrPart(file).catch(() => {
    throw new StartError(`${variable} is \`${file}\`, which cannot be read. Set it to a readable file`);
  });
}

/**
 * Checks the registry and the catalog before either plane starts. Throws a `StartError` that lists every problem of both
 * files with its line.
 */
async function requireSoundFiles(registryFile: string, catalogFile: string): Promise<void> {
  const [registryText, catalogText] = await Promise.all([textOf(registryFile), textOf(catalogFile)]);
  const registry = registryIn(registryText);
  const today = new Date().toISOString().slice(0, 10);
  const catalog = checkCatalog(
    catalogText,
    registry.ok ? publicRegistry(registry.value, () => true) : undefined,
    today,
    extendsBuiltIn(catalogText) ? await readFile(builtInCatalog, 'utf8') : undefined,
  );
  const problems = [
    ...(registry.ok ? [] : inWords(registryFile, registry.problems)),
    ...inWords(catalogFile, catalog.problems),
  ];
  if (problems.length > 0) throw new StartError(`the configuration has problems:\n${problems.join('\n')}`);
}

/** A registry, which may extend the built-in one. */
const registryIn = (text: string) =>
  parseRegistry(text, '', { builtIn: extendsBuiltIn(text) ? builtInRegistry().bytes.toString('utf8') : undefined });

const textOf = async (file: string): Promise<string> => (await readFileOrPart(file)).toString('utf8');

const inWords = (file: string, problems: readonly FileProblem[]): string[] =>
  problems.map(({ line, message }) => `  ${file}:${line}: ${message}`);

/** The providers of a registry file. Undefined if it is malformed. */
export async function providersOf(file: string): Promise<readonly RegistryProvider[] | undefined> {
  const read = registryIn(await textOf(file));
  return read.ok ? read.value.providers : undefined;
}

/** A provider that cannot be called, because the environment has no key for it. */
export interface KeylessProvider {
  readonly id: string;
  readonly variable: string;
  /** Whether the variable holds a key of Sotto itself. */
  readonly hasOwnSecret: boolean;
}

/** The providers of a registry file that need a key which the environment lacks. */
export async function providersWithoutKey(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly KeylessProvider[]> {
  return ((await providersOf(file)) ?? []).flatMap((provider) => {
    const names = keysOf(provider).map(({ env }) => env);
    const states = names.map((name) => stateOfKey(environment[name]));
    if (names.length === 0 || states.includes('usable')) return [];
    return [{ id: provider.id, variable: names.join(' or '), hasOwnSecret: states.includes('own') }];
  });
}

const stateOfKey = (value: string | undefined): 'missing' | 'own' | 'usable' =>
  !value ? 'missing' : isOwnSecret(value) ? 'own' : 'usable';
