import { comparePrivacy } from '@sotto/wire';
import type { FileProblem, YamlSource } from '@sotto/yaml';
import { knownParameters } from '../parameters/parameter-names.ts';
import { type CatalogFile, type CatalogFileModel, type CatalogFileRoute, missingPrices } from './catalog-file.ts';
import { type RegistryPublic, servesType, strongestAllowedClass } from './registry.ts';

/**
 * Returns the problems that stop a catalog file from being published, each with its line. Without a registry, it does
 * not check providers or their privacy classes.
 */
export function catalogProblems(
  file: CatalogFile,
  source: Pick<YamlSource, 'lineOf'>,
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

/** The parameters that a route's capabilities promise but its list of parameters lacks. */
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

/** Days after which the facts of a catalog should be checked again. */
const staleAfterDays = 180;
const dayMs = 86_400_000;

type Warn = (path: PropertyKey[], message: string) => void;

/**
 * Returns what is allowed in a catalog file but is probably a mistake, each with its line. `today` is a date such as
 * 2026-01-31.
 */
export function catalogWarnings(file: CatalogFile, source: Pick<YamlSource, 'lineOf'>, today: string): FileProblem[] {
  const warnings: FileProblem[] = [];
  const upstream = new Map<string, string>();
  const folded = new Map<string, string>();
  for (const [m, model] of file.models.entries()) {
    const warn: Warn = (path, message) => {
      warnings.push({ line: source.lineOf(['models', m, ...path]), message: `${model.id}: ${message}` });
    };
    const twin = folded.get(model.id.toLowerCase());
    if (twin !== undefined && twin !== model.id) warn(['id'], `differs from ${twin} only in upper and lower case`);
    folded.set(model.id.toLowerCase(), model.id);
    warnAboutParameters(model, [], warn);
    for (const [r, route] of model.routes.entries()) {
      const path = ['routes', r];
      const served = `${route.provider} ${route.upstream_model}`;
      const other = upstream.get(served);
      if (other !== undefined && other !== model.id) {
        warn([...path, 'upstream_model'], `${route.provider} serves ${route.upstream_model} as ${other} too`);
      }
      upstream.set(served, model.id);
      warnAboutPrices(route, path, warn);
      warnAboutLimits(model, route, path, warn);
      warnAboutParameters(route, path, warn);
      if (route.as_of !== undefined) warnAboutAge(route.as_of, today, (message) => warn([...path, 'as_of'], message));
    }
    if (model.as_of !== undefined) warnAboutAge(model.as_of, today, (message) => warn(['as_of'], message));
  }
  if (file.as_of !== undefined) {
    warnAboutAge(file.as_of, today, (message) => {
      warnings.push({ line: source.lineOf(['as_of']), message: `the file: ${message}` });
    });
  }
  return warnings;
}

/** Returns the routes for which nothing is charged, such as those of an operator's own server. */
export const freeRoutes = ({ models }: CatalogFile): string[] =>
  models.flatMap(({ id, routes }) => routes.filter(isFree).map(({ provider }) => `${id} at ${provider}`));

const pricesOf = ({ pricing: { tiers: _, ...prices } }: CatalogFileRoute): [name: string, usd: unknown][] =>
  Object.entries(prices);

const isFree = (route: CatalogFileRoute): boolean => {
  const prices = pricesOf(route);
  return prices.length > 0 && prices.every(([, usd]) => usd === 0) && route.pricing.tiers === undefined;
};

function warnAboutPrices(route: CatalogFileRoute, path: PropertyKey[], warn: Warn): void {
  const { provider, pricing } = route;
  const { tiers } = pricing;
  for (const [name, usd] of isFree(route) ? [] : pricesOf(route)) {
    if (usd === 0) warn([...path, 'pricing'], `the ${name} price of ${provider} is 0: nothing is charged for it`);
  }
  const { input, cached_input: cached } = pricing;
  if (input !== undefined && cached !== undefined && cached > input) {
    warn([...path, 'pricing'], `at ${provider}, cached input costs more than input`);
  }
  for (const tier of tiers ?? []) {
    if ((tier.input ?? input ?? 0) < (input ?? 0)) {
      const above = tier.above_prompt_tokens;
      warn([...path, 'pricing'], `at ${provider}, input costs less above ${above} prompt tokens than below`);
    }
  }
}

function warnAboutLimits(model: CatalogFileModel, route: CatalogFileRoute, path: PropertyKey[], warn: Warn): void {
  for (const name of ['context_length', 'max_output_tokens'] as const) {
    const [own, whole] = [route[name], model[name]];
    if (own !== undefined && whole !== undefined && own > whole) {
      warn([...path, name], `${name} of ${route.provider} is above the model's, which rules`);
    }
  }
  const context = route.context_length ?? model.context_length;
  const output = route.max_output_tokens ?? model.max_output_tokens;
  if (context !== undefined && output !== undefined && output > context) {
    warn(path, `max_output_tokens of ${route.provider} is above its context_length`);
  }
}

function warnAboutParameters(
  { supported_parameters: listed }: Pick<CatalogFileModel, 'supported_parameters'>,
  path: PropertyKey[],
  warn: Warn,
): void {
  for (const [at, name] of (listed ?? []).entries()) {
    if (!knownParameters.has(name)) warn([...path, 'supported_parameters', at], `\`${name}\` is no known parameter`);
  }
}

function warnAboutAge(asOf: string, today: string, warn: (message: string) => void): void {
  const days = Math.floor((Date.parse(today) - Date.parse(asOf)) / dayMs);
  if (days < 0) warn(`as_of ${asOf} lies in the future`);
  if (days > staleAfterDays) warn(`as of ${asOf}, ${days} days ago: look the facts up again`);
}
