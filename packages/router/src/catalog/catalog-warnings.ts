import { knownParameters } from '../parameters/parameter-names.ts';
import type { CatalogFile, CatalogFileModel, CatalogFileRoute } from './catalog-file.ts';
import type { FileProblem, YamlSource } from './yaml-source.ts';

/** Facts older than this are no longer taken for true without a look. */
export const staleAfterDays = 180;
const dayMs = 86_400_000;

type Warn = (path: PropertyKey[], message: string) => void;

/**
 * What is allowed in a catalog file and yet looks like a mistake, each with its line. `today` is a date such as
 * 2026-01-31.
 */
export function catalogWarnings(file: CatalogFile, source: YamlSource, today: string): FileProblem[] {
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

function warnAboutPrices({ provider, pricing }: CatalogFileRoute, path: PropertyKey[], warn: Warn): void {
  const { tiers, ...prices } = pricing;
  for (const [name, usd] of Object.entries(prices)) {
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
