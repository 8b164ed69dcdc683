import { type CatalogFile, catalogFileSchema } from './catalog-file.ts';
import { catalogProblems } from './catalog-problems.ts';
import { catalogWarnings } from './catalog-warnings.ts';
import type { RegistryPublic } from './registry.ts';
import { type FileProblem, readYamlAs } from './yaml-source.ts';

export interface CatalogCheck {
  /** The file, where its shape is right. */
  readonly file: CatalogFile | undefined;
  /** What would have it refused, in the order of the file. */
  readonly problems: readonly FileProblem[];
  /** What is allowed and looks like a mistake, in the order of the file. */
  readonly warnings: readonly FileProblem[];
}

/**
 * Looks a catalog file over as `parseCatalog` does, and for what looks like a mistake besides. Without a registry, what
 * depends on one is not judged. `today` is a date such as 2026-01-31.
 */
export function checkCatalog(text: string, registry: RegistryPublic | undefined, today: string): CatalogCheck {
  const read = readYamlAs(text, catalogFileSchema);
  if (!read.ok) return { file: undefined, problems: byLine(read.problems), warnings: [] };
  const { file, source } = read.value;
  return {
    file,
    problems: byLine(catalogProblems(file, source, registry)),
    warnings: byLine(catalogWarnings(file, source, today)),
  };
}

const byLine = (problems: readonly FileProblem[]): FileProblem[] => [...problems].sort((a, b) => a.line - b.line);
