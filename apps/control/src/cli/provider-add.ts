import {
  type Ask,
  addProvider,
  askServer,
  chats,
  type ProviderFiles,
  type RegistryEntry,
  recogniseServer,
  serverEntry,
  serverKinds,
  serverModels,
  takesTools,
} from '@sotto/discovery';
import { type CatalogFileInput, importModels, publicRegistry } from '@sotto/router';
import { type PrivacyClass, parseJson, providerIdSchema } from '@sotto/wire';
import { checkCatalogText, parseRegistryText } from '../catalog/built-in-files.ts';
import { counted } from '../counted.ts';
import { CliError, type CliProcess, readIfPresent, replaceFile, today, UsageError } from './cli-process.ts';
import {
  factsOf,
  fetchText,
  type ImportValues,
  keyOf,
  loopbackHosts,
  parseOption,
  privacyClassOf,
  tellOfImport,
} from './read-source.ts';

/** A model server answers a question of one token within this time. */
const answerMs = 10_000;

/**
 * Adds a provider to a registry file and its models to a catalog file. Asks the server for its models: Ollama, LM Studio,
 * llama.cpp and vLLM by their own API, any other by its list in OpenAI's or OpenRouter's shape.
 */
export async function providerAdd(
  context: CliProcess,
  address: string | undefined,
  values: ImportValues,
): Promise<void> {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('provider add needs the address of a server, such as https://api.acme.example/v1');
  }
  const files = {
    registry: fileOf(values, 'registry', 'providers.yaml'),
    catalog: fileOf(values, 'catalog', 'catalog.yaml'),
  };
  const found = await findModels(context, url, values);
  if (found.models.length === 0) throw new CliError('no model of the server can be used; nothing was written');

  const before: Partial<ProviderFiles> = {
    ...textUnder('registry', await readIfPresent(files.registry)),
    ...textUnder('catalog', await readIfPresent(files.catalog)),
  };
  const added = addProvider(before, { ...found, replaces: values.force === true });
  if (!added.ok) {
    const hint = added.problem.includes('already') ? '; --force replaces it, --id names another' : '';
    throw new CliError(`${files.registry}, ${files.catalog}: ${added.problem}${hint}; nothing was written`);
  }
  const problems = problemsOf(files, added.files);
  if (problems.length > 0) throw new CliError([...problems, 'nothing was written'].join('\n'));
  await replaceFile(files.registry, added.files.registry);
  await replaceFile(files.catalog, added.files.catalog);

  for (const { id } of found.models) context.out(id);
  const { id, privacy_class: privacyClass } = found.entry;
  context.out(
    `${files.registry}, ${files.catalog}: added \`${id}\` (${privacyClass}) with ${counted(found.models.length, 'model')}`,
  );
  context.out(`To use them: PROVIDERS_FILE=${files.registry} CATALOG_FILE=${files.catalog} npm start`);
}

interface Found {
  readonly entry: RegistryEntry;
  readonly models: CatalogFileInput['models'];
}

type Model = Found['models'][number];

/** The facts that the operator gives about a server. A fact that is not given is `undefined`: the command makes up no price and claims no tier. */
interface Given {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly apiKeyEnv: string | undefined;
  readonly key: string | undefined;
  readonly privacyClass: PrivacyClass;
  readonly contextLength: number | undefined;
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly tools: boolean;
  readonly insecureHttp: boolean;
}

function givenBy(context: CliProcess, url: URL, values: ImportValues): Given {
  const insecureHttp = url.protocol === 'http:' && !loopbackHosts.has(url.hostname);
  if (insecureHttp && values['insecure-http'] !== true) {
    throw new UsageError('plain http to another machine needs --insecure-http: its network would see all content');
  }
  const { input, output, contextLength } = factsOf(values);
  const apiKeyEnv = values['api-key-env'];
  return {
    id: values.id === undefined ? undefined : parseOption(values.id, providerIdSchema, idTakes),
    name: textOf(values.name),
    key: keyOf(context, apiKeyEnv),
    apiKeyEnv: textOf(apiKeyEnv),
    privacyClass: privacyClassOf(values, 'anonymous'),
    ...{ contextLength, input, output },
    tools: values.tools === true,
    insecureHttp,
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

async function findModels(context: CliProcess, url: URL, values: ImportValues): Promise<Found> {
  const given = givenBy(context, url, values);
  const found = (await recognised(context, url, given)) ?? (await listed(context, url, given));
  return {
    entry: {
      ...found.entry,
      ...(given.name === undefined ? {} : { name: given.name }),
      ...(given.apiKeyEnv === undefined ? {} : { api_key_env: given.apiKeyEnv }),
      ...(given.insecureHttp ? { insecure_http: true } : {}),
      privacy_class: given.privacyClass,
    },
    models: given.tools ? found.models.map(withTools) : found.models,
  };
}

/** A server that is known by its own API, which tells what its models can do. */
async function recognised(context: CliProcess, url: URL, given: Given): Promise<Found | undefined> {
  // A gateway may have several servers under its paths, so only what is below the given one is asked.
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}`;
  const server = await recogniseServer(base, askServer(base, fetch, answerMs, given.key));
  if (server === undefined) return undefined;
  const id = given.id ?? server.kind;
  context.error(`${serverKinds[server.kind].name} answers at ${base}`);
  for (const { model, reason } of server.leftOut) context.error(`left out: ${model}: ${reason}`);
  const { input, output } = given;
  if (input === undefined || output === undefined) {
    throw new CliError(
      `what ${base} costs is not known: give --input-price and --output-price, 0 if it is your own; nothing was written`,
    );
  }
  const models = serverModels(server, id, loopbackHosts.has(url.hostname)).map((model): Model => {
    const pricing = model.model_type === 'text' ? { input, output } : { input };
    return {
      ...model,
      ...(given.contextLength === undefined ? {} : { context_length: given.contextLength }),
      routes: model.routes.map((route) => ({ ...route, privacy_class: given.privacyClass, pricing })),
    };
  });
  return { entry: serverEntry(server.kind, id, server.baseUrl), models };
}

/** Any other server, by its list of models in OpenAI's or OpenRouter's shape. */
async function listed(context: CliProcess, url: URL, given: Given): Promise<Found> {
  const id = given.id ?? parseOption(idFrom(url), providerIdSchema, idTakes);
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '') || '/v1'}`;
  const { key, privacyClass, insecureHttp, contextLength, input, output } = given;
  const list = await fetchText(`${base}/models`, key, { plain: insecureHttp });
  const imported = importModels(parseJson(list), {
    ...{ provider: id, creator: id, privacyClass, asOf: today(), given: { contextLength, input, output } },
  });
  if (imported === undefined) throw new CliError(`${base}/models is not a list of models in OpenAI's shape`);
  tellOfImport(context, imported);
  const ask = askServer(base, fetch, answerMs, key);
  return {
    entry: { id, name: id, adapter: 'openai', base_url: base },
    models: given.tools
      ? imported.file.models
      : await withTriedTools(context, { ask, apiKeyEnv: given.apiKeyEnv }, imported.file.models),
  };
}

/** Trying costs a token of each model, so a server with more models is not asked. */
const mostTried = 20;

/** Tries which models take tools, where the list does not say what a model can do. */
async function withTriedTools(
  context: CliProcess,
  { ask, apiKeyEnv }: { readonly ask: Ask; readonly apiKeyEnv: string | undefined },
  models: Found['models'],
): Promise<Found['models']> {
  const keyHint = apiKeyEnv === undefined ? '' : ` and the key in ${apiKeyEnv}`;
  const silent = models.filter(({ model_type: type, routes }) => type === 'text' && routes.every(saysNothing));
  if (silent.length > mostTried) {
    context.error(`${silent.length} models do not say whether they take tools; add --tools if all do`);
    return models;
  }
  const able = new Set<string>();
  for (const model of silent) {
    const [route] = model.routes;
    if (route === undefined) continue;
    if (await takesTools(ask, route.upstream_model)) able.add(model.id);
    else if (await chats(ask, route.upstream_model))
      context.error(`${model.id}: did not take a tool when asked; --tools says that it does`);
    else context.error(`${model.id}: did not answer a chat; check the server${keyHint}. Its tools are not known`);
  }
  return models.map((model) => (able.has(model.id) ? withTools(model) : model));
}

const saysNothing = (route: Model['routes'][number]): boolean =>
  route.capabilities === undefined && route.supported_parameters === undefined;

const withTools = (model: Model): Model =>
  model.model_type === 'text'
    ? {
        ...model,
        routes: model.routes.map((route) => ({ ...route, capabilities: { ...route.capabilities, tools: true } })),
      }
    : model;

const idTakes = '--id must be the id of a provider, such as `acme`: lower-case letters, digits and `-`';

/** The id of a provider by its address: `api.acme.example` is `acme`. */
function idFrom({ hostname }: URL): string {
  if (loopbackHosts.has(hostname) || /^[\d.]+$|^\[/.test(hostname)) return 'local';
  const labels = hostname.split('.');
  return (labels.length > 1 ? labels.at(-2) : labels[0]) ?? hostname;
}

function fileOf(values: ImportValues, option: string, otherwise: string): string {
  const file = values[option] ?? otherwise;
  if (typeof file !== 'string') throw new UsageError(`--${option} must be a file`);
  return file;
}

const textUnder = (name: keyof ProviderFiles, text: string | undefined): Partial<ProviderFiles> =>
  text === undefined ? {} : { [name]: text };

/** Returns the problems for which the planes would refuse the new files, each with its line. */
function problemsOf(names: ProviderFiles, { registry, catalog }: ProviderFiles): string[] {
  const parsed = parseRegistryText(registry);
  const { problems } = checkCatalogText(
    catalog,
    parsed.ok ? publicRegistry(parsed.value, () => true) : undefined,
    today(),
  );
  return [
    ...(parsed.ok ? [] : parsed.problems.map(({ line, message }) => `${names.registry}:${line}: ${message}`)),
    ...problems.map(({ line, message }) => `${names.catalog}:${line}: ${message}`),
  ];
}
