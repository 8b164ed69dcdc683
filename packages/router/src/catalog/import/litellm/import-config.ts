import { asObjects, isObject, type PrivacyClass } from '@sotto/wire';
import { type FileProblem, type FileResult, readYaml, writeYaml } from '@sotto/yaml';
import { type CatalogFileInput, writeCatalog } from '../import-models.ts';
import { type Deployment, readDeployment } from './read-deployment.ts';
import { reasonFor } from './untranslated.ts';

export interface LiteLlmOptions {
  /** The text of the built-in registry. */
  readonly builtInRegistry: string;
  /** LiteLLM's price map, as JSON. */
  readonly prices: unknown;
  readonly privacyClass: PrivacyClass;
  /** The date of the prices, such as 2026-01-31. */
  readonly asOf: string;
}

export interface LiteLlmImport {
  /** The texts of a registry and a catalog. */
  readonly registry: string;
  readonly catalog: string;
  readonly models: number;
  /** Models that have another id now. */
  readonly renamed: readonly (readonly [from: string, to: string])[];
  /** The variables with the providers' keys. */
  readonly variables: readonly string[];
  /** What was not translated, with its line, its path and the reason. */
  readonly notes: readonly FileProblem[];
}

/**
 * Makes a registry and a catalog of a `config.yaml` of LiteLLM's proxy. Several keys for one model at one provider become keys with
 * weights. Each setting that has no counterpart is noted. Makes up no price and no privacy class. Pure.
 */
export function importLiteLlm(text: string, options: LiteLlmOptions): FileResult<LiteLlmImport> {
  const read = readYaml(text);
  if (!read.ok) return read;
  const { value: config, lineOf } = read.value;
  if (!isObject(config) || !Array.isArray(config.model_list)) {
    return {
      ok: false,
      problems: [{ line: 1, message: 'the file has no list `model_list`, so it is no configuration of LiteLLM' }],
    };
  }
  const notes: FileProblem[] = [];
  const note = (path: readonly (string | number)[], reason: string): void => {
    const shown = path
      .map((part) => (typeof part === 'number' ? `[${part}]` : part))
      .join('.')
      .replaceAll('.[', '[');
    notes.push({ line: lineOf(path), message: `\`${shown}\`: ${reason}` });
  };
  noteSettings(config, note);

  const context = {
    builtIn: builtInEntries(options.builtInRegistry),
    prices: isObject(options.prices) ? options.prices : {},
    ...{ privacyClass: options.privacyClass, asOf: options.asOf },
    idFor: modelIds(),
    variableFor: variables(),
  };
  const deployments = config.model_list.flatMap((given: unknown, at) => {
    const below = (path: readonly string[], reason: string): void => note(['model_list', at, ...path], reason);
    const made = readDeployment(given, { ...context, note: below });
    return made === undefined ? [] : [{ ...made, at }];
  });
  const { providers, models } = assemble(deployments, note);
  const comment = 'Made by `sotto-control litellm import`.';
  return {
    ok: true,
    value: {
      registry: writeYaml({ providers }, { comment, onOneLine: new Set(['request', 'timeouts', 'api_keys']) }),
      catalog: writeCatalog({ as_of: options.asOf, models }, `${comment}\nPrices in USD per million tokens.`),
      models: models.length,
      renamed: [...new Map(deployments.map(({ name, model }) => [name, model.id]))].filter(([from, to]) => from !== to),
      variables: [...new Set(deployments.flatMap(({ key }) => key?.env ?? []))].sort(),
      notes: notes.toSorted((a, b) => a.line - b.line),
    },
  };
}

/** Notes each setting beside the models. */
function noteSettings(
  config: Readonly<Record<string, unknown>>,
  note: (path: readonly string[], reason: string) => void,
): void {
  for (const [section, value] of Object.entries(config)) {
    if (section === 'model_list') continue;
    if (!isObject(value) || section === 'environment_variables') note([section], reasonFor(section));
    else for (const key of Object.keys(value)) note([section, key], reasonFor(key));
  }
}

function builtInEntries(text: string) {
  const read = readYaml(text);
  const { providers } = read.ok && isObject(read.value.value) ? read.value.value : {};
  const entries = asObjects(providers) ?? [];
  return new Map(entries.map((entry) => [String(entry.id), entry]));
}

function modelIds(): (name: string, creator: string) => string {
  const ids = new Map<string, string>();
  return (name, creator) => {
    const slug = name.replace(/[^\w./-]+/g, '-').replace(/^[-/]+|[-/]+$/g, '');
    const id = ids.get(name) ?? (slug.split('/').length === 2 ? slug : `${creator}/${slug.replaceAll('/', '-')}`);
    ids.set(name, id);
    return id;
  };
}

/** Names variables for keys that have none. */
function variables(): (provider: string, key: string) => string {
  const byKey = new Map<string, string>();
  return (provider, key) => {
    const base = provider.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
    const taken = new Set(byKey.values());
    // A name that ends in `_KEY` can also be given as a file.
    let name = `${base}_KEY`;
    for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}_KEY`;
    const known = byKey.get(key) ?? name;
    byKey.set(key, known);
    return known;
  };
}

type Placed = Deployment & { readonly at: number };

/**
 * Puts the deployments together: of the same model at the same server, the keys; of the same model at several servers, the routes. A
 * server with other keys for another model is another provider: `openai`, `openai/2`.
 */
function assemble(deployments: readonly Placed[], note: (path: readonly (string | number)[], reason: string) => void) {
  const providers = new Map<string, object>();
  const taken = new Set<string>();
  const ids = new Map<string, string>();
  const idFor = (
    entry: Deployment['provider'],
    keys: readonly { readonly env: string; readonly weight: number }[],
  ): string => {
    const single = keys.length === 1 ? keys[0]?.env : undefined;
    const keyed = keys.length === 0 ? {} : single !== undefined ? { api_key_env: single } : { api_keys: keys };
    const signature = JSON.stringify([entry, keyed]);
    const known = ids.get(signature);
    if (known !== undefined) return known;
    let id = entry.id;
    for (let count = 2; taken.has(id); count += 1) id = `${entry.id}${entry.id.includes('/') ? '-' : '/'}${count}`;
    taken.add(id);
    ids.set(signature, id);
    providers.set(id, { ...entry, id, ...keyed });
    return id;
  };

  const models: CatalogFileInput['models'] = [];
  for (const group of Map.groupBy(deployments, ({ model }) => model.id).values()) {
    const [first] = group;
    if (first === undefined) continue;
    const servers = Map.groupBy(group, ({ provider, model }) =>
      JSON.stringify([provider, model.routes[0]?.upstream_model]),
    );
    if (servers.size > 1 && group.some(({ isWeighted }) => isWeighted)) {
      note(['model_list', first.at], 'its weights divide keys of one provider; between providers, routing decides');
    }
    const routes = new Map<string, (typeof first.model.routes)[number]>();
    for (const same of servers.values()) {
      const [one] = same;
      const [route] = one?.model.routes ?? [];
      if (one === undefined || route === undefined) continue;
      const weights = new Map<string, number>();
      for (const { key } of same) if (key !== undefined) weights.set(key.env, (weights.get(key.env) ?? 0) + key.weight);
      const provider = idFor(
        one.provider,
        [...weights].map(([env, weight]) => ({ env, weight })),
      );
      if (routes.has(provider))
        note(['model_list', one.at], 'a model has one route at a provider, and this would be the second');
      else routes.set(provider, { ...route, provider });
    }
    models.push({ ...first.model, routes: [...routes.values()] });
  }
  return { providers: [...providers.values()], models };
}
