import { comparePrivacy } from '@sotto/wire';
import { bindCatalog } from './bind-catalog.ts';
import type { Catalog } from './catalog.ts';
import { type CatalogFile, catalogFileSchema, missingPrices } from './catalog-file.ts';
import { type RegistryPublic, strongestAllowedClass } from './registry.ts';
import { type FileProblem, type FileResult, readYamlAs, type YamlSource } from './yaml-source.ts';

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

function catalogProblems(file: CatalogFile, source: YamlSource, registry: RegistryPublic): FileProblem[] {
  const problems: FileProblem[] = [];
  const providers = new Map(registry.providers.map((provider) => [provider.id, provider]));
  const models = new Set<string>();
  for (const [m, model] of file.models.entries()) {
    const report = (path: PropertyKey[], message: string): void => {
      problems.push({ line: source.lineOf(['models', m, ...path]), message: `${model.id}: ${message}` });
    };
    if (models.has(model.id)) report(['id'], 'the model is repeated');
    models.add(model.id);
    const seen = new Set<string>();
    for (const [r, route] of model.routes.entries()) {
      const provider = providers.get(route.provider);
      if (seen.has(route.provider)) report(['routes', r, 'provider'], `provider ${route.provider} is repeated`);
      seen.add(route.provider);
      const missing = missingPrices(model, route);
      if (missing.length > 0) {
        report(['routes', r, 'pricing'], `the route of ${route.provider} lacks the price ${missing.join(' and ')}`);
      }
      if (model.model_type === 'text' && (route.context_length ?? model.context_length) === undefined) {
        report(['routes', r], `the route of ${route.provider} needs a context_length, its own or the model's`);
      }
      if (provider === undefined) {
        report(['routes', r, 'provider'], `provider ${route.provider} is not in the registry`);
      } else {
        const allowed = strongestAllowedClass(provider, route.upstream_model);
        if (comparePrivacy(route.privacy_class, allowed) > 0) {
          const message = `${route.provider} may claim at most ${allowed} for ${route.upstream_model}`;
          report(['routes', r, 'privacy_class'], message);
        }
      }
    }
  }
  return problems;
}
