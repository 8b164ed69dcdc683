import { type FileProblem, type FileResult, readYamlAs } from '@sotto/yaml';
import { bindCatalog } from './bind-catalog.ts';
import type { Catalog } from './catalog.ts';
import { type CatalogFile, catalogFileSchema } from './catalog-file.ts';
import { catalogProblems, catalogWarnings, freeRoutes } from './catalog-problems.ts';
import { extendCatalog } from './extend-built-in.ts';
import type { RegistryPublic } from './registry.ts';

export interface ParsedCatalog {
  readonly file: CatalogFile;
  readonly catalog: Catalog;
}

/**
 * Parses a catalog file against a registry's public half. Refuses the whole file if it names an unknown provider, lacks
 * a price, repeats a model or claims more privacy than the registry allows. Each problem has its line. `builtIn` is the text of the
 * catalog that the file may extend.
 */
export function parseCatalog(
  text: string,
  registry: RegistryPublic,
  identity: { readonly version: number; readonly digest: string },
  builtIn?: string,
): FileResult<ParsedCatalog> {
  const read = readCatalogFile(text, registry, builtIn);
  if (!read.ok) return read;
  const { file, source } = read.value;
  const problems = catalogProblems(file, source, registry);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: { file, catalog: bindCatalog(file, registry, identity).catalog } };
}

export interface CatalogCheck {
  /** Undefined if the file does not match the schema. */
  readonly file: CatalogFile | undefined;
  /** Reasons to refuse the file, in the order of the file. */
  readonly problems: readonly FileProblem[];
  /** Probable mistakes that are allowed, in the order of the file. */
  readonly warnings: readonly FileProblem[];
  /** The routes for which nothing is charged, as `model at provider`. */
  readonly free: readonly string[];
}

/**
 * Checks a catalog file as `parseCatalog` does, and also reports probable mistakes. Without a registry, it skips the
 * checks that need one. `today` is a date such as 2026-01-31.
 */
export function checkCatalog(
  text: string,
  registry: RegistryPublic | undefined,
  today: string,
  builtIn?: string,
): CatalogCheck {
  const read = readCatalogFile(text, registry, builtIn);
  if (!read.ok) return { file: undefined, problems: byLine(read.problems), warnings: [], free: [] };
  const { file, source } = read.value;
  return {
    file,
    problems: byLine(catalogProblems(file, source, registry)),
    warnings: byLine(catalogWarnings(file, source, today)),
    free: freeRoutes(file),
  };
}

/** Reads a file, with the models of the built-in catalog if it extends that. Only routes to providers of the registry are taken over. */
function readCatalogFile(text: string, registry: RegistryPublic | undefined, builtIn: string | undefined) {
  const providers = registry && new Set(registry.providers.map(({ id }) => id));
  return readYamlAs(
    text,
    catalogFileSchema,
    extendCatalog(builtIn === undefined ? undefined : { text: builtIn, providers }),
  );
}

const byLine = (problems: readonly FileProblem[]): FileProblem[] => [...problems].sort((a, b) => a.line - b.line);
