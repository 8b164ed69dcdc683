import { comparePrivacy } from '@sotto/wire';
import { type CatalogFile, type CatalogFileModel, type CatalogFileRoute, missingPrices } from './catalog-file.ts';
import { type RegistryPublic, servesType, strongestAllowedClass } from './registry.ts';
import type { FileProblem, YamlSource } from './yaml-source.ts';

/**
 * What makes a catalog file unfit to be put in force, each problem with its line. Without a registry, everything but
 * what its routes may claim.
 */
export function catalogProblems(
  file: CatalogFile,
  source: YamlSource,
  registry: RegistryPublic | undefined,
): FileProblem[] {
  const problems: FileProblem[] = [];
  const providers = new Map(registry?.providers.map((provider) => [provider.id, provider]));
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
      for (const name of contradicted(model, route)) {
        report(
          ['routes', r, 'capabilities'],
          `the route of ${route.provider} offers what its supported_parameters lack: add \`${name}\` there, or do not offer it`,
        );
      }
      if (registry === undefined) continue;
      if (provider === undefined) {
        report(['routes', r, 'provider'], `provider ${route.provider} is not in the registry`);
      } else {
        const allowed = strongestAllowedClass(provider, route.upstream_model);
        if (comparePrivacy(route.privacy_class, allowed) > 0) {
          const message = `${route.provider} may claim at most ${allowed} for ${route.upstream_model}`;
          report(['routes', r, 'privacy_class'], message);
        }
        if (!servesType(provider, model.model_type)) {
          const message = `${route.provider} serves no models of type ${model.model_type}: its adapter has no such operation`;
          report(['routes', r, 'provider'], message);
        }
      }
    }
  }
  return problems;
}

/** The parameters that a route's capabilities promise and its list of parameters does not have. */
function contradicted(model: CatalogFileModel, route: CatalogFileRoute): string[] {
  const listed = route.supported_parameters ?? model.supported_parameters;
  if (listed === undefined) return [];
  const { tools, structured_output, reasoning } = route.capabilities;
  const lacks = (...names: string[]): boolean => !names.some((name) => listed.includes(name));
  return [
    ...(tools && lacks('tools') ? ['tools'] : []),
    ...(structured_output && lacks('structured_outputs') ? ['structured_outputs'] : []),
    ...(reasoning && reasoning.efforts.length > 0 && lacks('reasoning_effort', 'reasoning')
      ? ['reasoning_effort']
      : []),
  ];
}
