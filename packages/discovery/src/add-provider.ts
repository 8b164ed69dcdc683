import type { CatalogFileInput } from '@sotto/router';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import type { RegistryEntry } from './entries.ts';

/** The two files of a provider as text. */
export interface ProviderFiles {
  readonly registry: string;
  readonly catalog: string;
}

export interface AddedProvider {
  readonly entry: RegistryEntry;
  readonly models: CatalogFileInput['models'];
  /** Whether it may replace an entry of the same id, with all its routes. */
  readonly replaces: boolean;
}

export type AddResult =
  | { readonly ok: true; readonly files: ProviderFiles }
  | { readonly ok: false; readonly problem: string };

const emptyFiles: ProviderFiles = { registry: 'providers: []\n', catalog: 'models: []\n' };

/**
 * Adds a provider to a registry file and its models to a catalog file. Keeps the rest of both, comments included. A model
 * that the catalog already has gets a further route. Pure.
 */
export function addProvider(
  { registry = emptyFiles.registry, catalog = emptyFiles.catalog }: Partial<ProviderFiles>,
  { entry, models, replaces }: AddedProvider,
): AddResult {
  const [registryFile, catalogFile] = [parseDocument(registry), parseDocument(catalog)];
  const providers = listIn(registryFile, 'providers');
  const listed = listIn(catalogFile, 'models');
  if (providers === undefined) return { ok: false, problem: 'the registry file has no list `providers`' };
  if (listed === undefined) return { ok: false, problem: 'the catalog file has no list `models`' };

  if (providers.items.some((item) => isMap(item) && item.get('id') === entry.id)) {
    if (!replaces) return { ok: false, problem: `the registry file already has the provider \`${entry.id}\`` };
    providers.items = providers.items.filter((item) => !(isMap(item) && item.get('id') === entry.id));
    removeRoutes(listed, entry.id);
  }
  providers.add(registryFile.createNode(entry));
  for (const model of models) {
    const known = listed.items.find((item): item is YAMLMap => isMap(item) && item.get('id') === model.id);
    const routes = known?.get('routes');
    if (known === undefined) listed.add(writtenModel(catalogFile, model));
    else if (isSeq(routes)) for (const route of model.routes) routes.add(writtenRoute(catalogFile, route));
    else return { ok: false, problem: `the model \`${model.id}\` of the catalog file has no list \`routes\`` };
  }
  return { ok: true, files: { registry: textOf(registryFile), catalog: textOf(catalogFile) } };
}

/** The list under a key of the file, in block style. Undefined if the file is malformed or has something else there. */
function listIn(file: Document, key: string): YAMLSeq | undefined {
  const list = file.get(key);
  if (file.errors.length > 0 || !isSeq(list)) return undefined;
  list.flow = false;
  return list;
}

function removeRoutes(models: YAMLSeq, provider: string): void {
  models.items = models.items.filter((model) => {
    const routes = isMap(model) ? model.get('routes') : undefined;
    if (!isSeq(routes)) return true;
    routes.items = routes.items.filter((item) => !(isMap(item) && item.get('provider') === provider));
    return routes.items.length > 0;
  });
}

function writtenModel(file: Document, { routes, ...model }: CatalogFileInput['models'][number]): YAMLMap {
  const node = file.createNode(model) as YAMLMap;
  const list = file.createNode([]) as YAMLSeq;
  list.flow = false;
  for (const route of routes) list.add(writtenRoute(file, route));
  node.set('routes', list);
  return node;
}

/** A route with its price and capabilities on one line each, as people write them. */
function writtenRoute(file: Document, route: CatalogFileInput['models'][number]['routes'][number]): YAMLMap {
  const node = file.createNode(route) as YAMLMap;
  for (const key of ['pricing', 'capabilities', 'supported_parameters']) {
    const value = node.get(key);
    if (isMap(value) || isSeq(value)) value.flow = true;
  }
  return node;
}

const textOf = (file: Document): string => file.toString({ lineWidth: 0 });
