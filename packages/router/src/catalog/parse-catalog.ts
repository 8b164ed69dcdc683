import { bindCatalog } from './bind-catalog.ts';
import type { Catalog } from './catalog.ts';
import { type CatalogFile, catalogFileSchema } from './catalog-file.ts';
import { catalogProblems } from './catalog-problems.ts';
import type { RegistryPublic } from './registry.ts';
import { type FileResult, readYamlAs } from './yaml-source.ts';

export interface ParsedCatalog {
  readonly file: CatalogFile;
  readonly catalog: Catalog;
}

/**
 * Parses a catalog file against a registry's public half. A file that names an unknown provider, misses a price,
 * repeats a model or claims more privacy than the registry allows is refused whole, each problem with its line.
 */
export function parseCatalog(
  text: string,
  registry: RegistryPublic,
  identity: { readonly version: number; readonly digest: string },
): FileResult<ParsedCatalog> {
  const read = readYamlAs(text, catalogFileSchema);
  if (!read.ok) return read;
  const { file, source } = read.value;
  const problems = catalogProblems(file, source, registry);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: { file, catalog: bindCatalog(file, registry, identity).catalog } };
}
