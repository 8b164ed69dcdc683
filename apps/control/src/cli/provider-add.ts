import {
  addProvider,
  askServer,
  type ProviderFiles,
  type RegistryEntry,
  recogniseServer,
  serverEntry,
  serverKinds,
  serverModels,
} from '@sotto/discovery';
import { type CatalogFileInput, checkCatalog, importModels, parseRegistry, publicRegistry } from '@sotto/router';
import { parseJson, providerIdSchema } from '@sotto/wire';
import { CliError, type CliProcess, readIfPresent, replaceFile, today, UsageError } from './cli-process.ts';
import {
  defaultsOf,
  fetchText,
  type ImportValues,
  keyOf,
  loopbackHosts,
  parseOption,
  privacyClassOf,
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
): Promise<number> {
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
  context.out(`${files.registry}, ${files.catalog}: added \`${found.entry.id}\` with ${countOf(found.models.length)}`);
  context.out(`To use them: PROVIDERS_FILE=${files.registry} CATALOG_FILE=${files.catalog} npm start`);
  return 0;
}

interface Found {
  readonly entry: RegistryEntry;
  readonly models: CatalogFileInput['models'];
}

async function findModels(context: CliProcess, url: URL, values: ImportValues): Promise<Found> {
  const given = values.id === undefined ? undefined : parseOption(values.id, providerIdSchema, idTakes);
  const isLoopback = loopbackHosts.has(url.hostname);
  const isPlain = url.protocol === 'http:' && !isLoopback;
  if (isPlain && values['insecure-http'] !== true) {
    throw new UsageError('plain http to another machine needs --insecure-http: its network would see all content');
  }
  const plainly = isPlain ? { insecure_http: true } : {};
  if (values['api-key-env'] === undefined) {
    const server = await recogniseServer(url.origin, askServer(url.origin, fetch, answerMs));
    if (server !== undefined) {
      const id = given ?? server.kind;
      context.error(`${serverKinds[server.kind].name} answers at ${url.origin}`);
      for (const { model, reason } of server.leftOut) context.error(`left out: ${model}: ${reason}`);
      return {
        entry: { ...serverEntry(server.kind, id, server.baseUrl), ...plainly },
        models: serverModels(server, id),
      };
    }
  }
  const id = given ?? parseOption(idFrom(url), providerIdSchema, idTakes);
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '') || '/v1'}`;
  const list = await fetchText(`${base}/models`, keyOf(context, values['api-key-env']), { plain: isPlain });
  const privacyClass = privacyClassOf(values, isLoopback ? 'private' : 'anonymous');
  const defaults = defaultsOf(values);
  const imported = importModels(parseJson(list), {
    ...{ provider: id, creator: id, privacyClass, asOf: today() },
    // A server on this machine costs nothing unless the operator says so.
    otherwise: isLoopback ? { ...defaults, input: defaults.input ?? 0, output: defaults.output ?? 0 } : defaults,
  });
  if (imported === undefined) throw new CliError(`${base}/models is not a list of models in OpenAI's shape`);
  for (const { id: model, reason } of imported.leftOut) context.error(`left out: ${model}: ${reason}`);
  const name = typeof values.name === 'string' ? values.name : id;
  const keyName = values['api-key-env'];
  return {
    entry: {
      ...{ id, name, adapter: 'openai', base_url: base, ...plainly },
      ...(typeof keyName === 'string' ? { api_key_env: keyName } : {}),
      privacy_class: privacyClass,
    },
    models: imported.file.models,
  };
}

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

/** What the planes would refuse in the new files, each with its line. */
function problemsOf(names: ProviderFiles, { registry, catalog }: ProviderFiles): string[] {
  const parsed = parseRegistry(registry, '');
  const { problems } = checkCatalog(catalog, parsed.ok ? publicRegistry(parsed.value, () => true) : undefined, today());
  return [
    ...(parsed.ok ? [] : parsed.problems.map(({ line, message }) => `${names.registry}:${line}: ${message}`)),
    ...problems.map(({ line, message }) => `${names.catalog}:${line}: ${message}`),
  ];
}

const countOf = (models: number): string => (models === 1 ? '1 model' : `${models} models`);
