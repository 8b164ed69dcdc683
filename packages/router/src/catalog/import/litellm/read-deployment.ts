import type { PrivacyClass } from '@sotto/wire';
import * as z from 'zod';
import type { RegistryProvider } from '../../registry.ts';
import { type CatalogFileInput, importModels } from '../import-models.ts';
import { litellmEntrySchema, litellmModel } from '../price-file.ts';
import { knownProviders, registryAddress, splitModel } from './endpoints.ts';
import { reasonFor } from './untranslated.ts';

/** An entry of `model_list`, in the terms of a registry and a catalog. */
export interface Deployment {
  readonly name: string;
  /** The provider's entry in a registry, without its id's number and its keys. */
  readonly provider: Readonly<Record<string, unknown>> & { readonly id: string };
  /** Undefined: the provider needs no key. */
  readonly key: { readonly env: string; readonly weight: number } | undefined;
  /** Whether the configuration asks for a share by weight. */
  readonly isWeighted: boolean;
  readonly model: CatalogFileInput['models'][number];
}

interface DeploymentContext {
  /** The entries of the built-in registry, as they are written. */
  readonly builtIn: ReadonlyMap<string, Partial<RegistryProvider>>;
  /** LiteLLM's price map. */
  readonly prices: Readonly<Record<string, unknown>>;
  readonly privacyClass: PrivacyClass;
  readonly asOf: string;
  /** Reports what is not translated: the path below the entry, and why. */
  readonly note: (path: readonly string[], reason: string) => void;
  /** Returns the id of a model by its name. All deployments of a name are one model, with the creator of the first. */
  readonly idFor: (name: string, creator: string) => string;
  /** Returns a variable for a key that is written in the configuration. The same key has the same variable. */
  readonly variableFor: (provider: string, key: string) => string;
}

const text = z.string().min(1);
const entrySchema = z.looseObject({
  model_name: text,
  litellm_params: z.looseObject({
    model: text,
    custom_llm_provider: text.nullish(),
    api_base: text.nullish(),
    base_url: text.nullish(),
    api_key: text.nullish(),
    aws_region_name: text.nullish(),
    weight: z.number().positive().nullish(),
    rpm: z.number().positive().nullish(),
    tpm: z.number().positive().nullish(),
    timeout: z.number().positive().nullish(),
    stream_timeout: z.number().positive().nullish(),
  }),
  model_info: z.looseObject({ base_model: text.nullish(), mode: z.string().nullish() }).nullish(),
});
type Entry = z.infer<typeof entrySchema>;

const ownParams = new Set([...Object.keys(entrySchema.shape.litellm_params.shape), 'api_version']);
/** Fields of the price map, which a deployment may state itself. */
const isFact = (key: string): boolean => /_cost|^supports_|^max_(input|output)_tokens$|^tiered_pricing$/.test(key);
const ownInfo = new Set(['id', 'base_model', 'mode', 'max_tokens', 'litellm_provider']);
const environment = /^os\.environ\/(.+)$/;

/** Reads one entry of `model_list`. Returns undefined, and notes why, if no route can be made of it. */
export function readDeployment(given: unknown, context: DeploymentContext): Deployment | undefined {
  const { note } = context;
  const read = entrySchema.safeParse(given);
  if (!read.success) {
    note(read.error.issues[0]?.path.map(String) ?? [], 'it is missing, or not of the form that LiteLLM documents');
    return undefined;
  }
  const entry = read.data;
  noteUnknown(entry, note);
  const { model_name: name, litellm_params: params } = entry;
  if (`${name}${params.model}`.includes('*')) {
    note(['model_name'], 'a pattern has no price: list its models');
    return undefined;
  }
  const priced = priceOf(entry, context.prices);
  const split = splitModel(params.model, {
    custom: params.custom_llm_provider ?? undefined,
    hasAddress: (params.api_base ?? params.base_url) != null,
    priced: priced?.litellm_provider,
  });
  const known = split && knownProviders[split.provider];
  if (split === undefined || known === undefined) {
    const why = split === undefined ? 'nothing tells its provider' : `no adapter speaks to \`${split.provider}\``;
    note(['litellm_params', 'model'], why);
    return undefined;
  }
  const provider = providerOf(split.provider, params, context);
  if (provider === undefined) return undefined;
  const { entry: registered, defaultKey } = provider;
  const upstream = split.provider === 'bedrock' ? (split.upstream.split('/').at(-1) ?? '') : split.upstream;
  const model = modelOf(entry, { priced, upstream, provider: registered.id, context });
  if (model === undefined) return undefined;
  const env = params.api_key == null ? defaultKey : keyVariable(params.api_key, registered.id, context);
  const share = params.weight ?? params.rpm ?? params.tpm ?? undefined;
  const weight = share === undefined ? 1 : Math.max(1, Math.round(share));
  return {
    ...{ name, model, provider: registered, isWeighted: share !== undefined },
    key: env === undefined ? undefined : { env, weight },
  };
}

function noteUnknown(
  { litellm_params: params, model_info: info, ...entry }: Entry,
  note: DeploymentContext['note'],
): void {
  for (const key of Object.keys(entry)) if (key !== 'model_name') note([key], reasonFor(key));
  for (const [key, value] of Object.entries(params)) {
    if (value == null || ((ownParams.has(key) || isFact(key)) && key !== 'rpm' && key !== 'tpm')) continue;
    note(['litellm_params', key], reasonFor(key));
  }
  for (const key of Object.keys(info ?? {}))
    if (!ownInfo.has(key) && !isFact(key)) note(['model_info', key], reasonFor(key));
}

/** The entry of the price map for a deployment: of its base model, of its model, or of its model's bare name. */
function priceOf({ litellm_params: { model }, model_info: info }: Entry, prices: DeploymentContext['prices']) {
  const names = [info?.base_model, model, model.slice(model.indexOf('/') + 1)];
  const found = names.find((name) => name != null && Object.hasOwn(prices, name));
  return found == null ? undefined : litellmEntrySchema.safeParse(prices[found]).data;
}

type Params = Entry['litellm_params'];

function providerOf(
  name: string,
  params: Params,
  { builtIn, privacyClass, note }: DeploymentContext,
): { readonly entry: Deployment['provider']; readonly defaultKey: string | undefined } | undefined {
  const known = knownProviders[name] ?? {};
  const field = params.api_base == null ? 'base_url' : 'api_base';
  const given = params.api_base ?? params.base_url ?? undefined;
  const { api_key_env: builtInKey, request, ...entryOfProvider } = builtIn.get(known.builtIn ?? '') ?? {};
  // Another server that speaks OpenAI's API may refuse the fields of OpenAI itself.
  const isCompatible = name === 'openai' && given !== undefined;
  const own = { ...entryOfProvider, ...(request === undefined || isCompatible ? {} : { request }) };
  if (given !== undefined && environment.test(given)) {
    note(['litellm_params', field], 'a registry has its addresses in writing: write this one out, and import again');
    return undefined;
  }
  const region = name === 'bedrock' ? (params.aws_region_name ?? undefined) : undefined;
  if (region !== undefined && environment.test(region)) {
    note(
      ['litellm_params', 'aws_region_name'],
      'a registry has its regions in writing: write this one out, and import again',
    );
    return undefined;
  }
  const regional =
    region === undefined
      ? {}
      : { id: `bedrock/${region}`, base_url: `https://bedrock-runtime.${region}.amazonaws.com` };
  const address = given === undefined ? (known.baseUrl ?? own.base_url) : registryAddress(name, given);
  if (address === undefined) {
    note(
      ['litellm_params', given === undefined ? 'model' : field],
      'the address of its server is missing, or no https address',
    );
    return undefined;
  }
  const isPlain = address.startsWith('http://') && !/^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:|\/)/.test(address);
  if (isPlain) note(['litellm_params', field], 'without TLS, the broker connects only within private networks');
  const timeouts = {
    ...own.timeouts,
    ...(params.stream_timeout == null ? {} : { first_byte_ms: Math.round(params.stream_timeout * 1000) }),
    ...(params.timeout == null ? {} : { total_ms: Math.round(params.timeout * 1000) }),
  };
  const id =
    given === undefined || known.builtIn === undefined
      ? (own.id ?? name.replaceAll('_', '-'))
      : `${name.replaceAll('_', '-')}/own`;
  const entry = {
    ...{ id, name: own.name ?? name, adapter: known.adapter ?? 'openai' },
    ...own,
    ...(given === undefined ? regional : { id }),
    ...(given === undefined && region !== undefined ? {} : { base_url: address }),
    ...(isPlain ? { insecure_http: true } : {}),
    ...(Object.keys(timeouts).length > 0 ? { timeouts } : {}),
    privacy_class: privacyClass,
  };
  return { entry, defaultKey: builtInKey ?? known.keyVariable };
}

function keyVariable(key: string, provider: string, { note, variableFor }: DeploymentContext): string {
  const [, named] = environment.exec(key) ?? [];
  if (named !== undefined && /^[A-Z][A-Z0-9_]{1,63}$/.test(named)) return named;
  const variable = variableFor(provider, key);
  note(
    ['litellm_params', 'api_key'],
    `${named === undefined ? 'a key is not written into a file' : 'the name of a variable has only upper-case letters, digits and `_`'}: set ${variable} in the broker's environment`,
  );
  return variable;
}

/** The model with its one route. Notes why if its price or context length is not known. */
function modelOf(
  entry: Entry,
  made: {
    readonly priced: ReturnType<typeof priceOf>;
    readonly upstream: string;
    readonly provider: string;
    readonly context: DeploymentContext;
  },
): Deployment['model'] | undefined {
  const { model_name: name, litellm_params: params, model_info: info } = entry;
  const { privacyClass, asOf, note } = made.context;
  const stated = (from: object): object =>
    Object.fromEntries(Object.entries(from).filter(([key, value]) => value != null && isFact(key)));
  const creator = made.provider.split('/')[0] ?? made.provider;
  const facts = {
    ...made.priced,
    ...(info?.mode == null ? {} : { mode: info.mode }),
    ...stated(info ?? {}),
    ...stated(params),
  } as Parameters<typeof litellmModel>[1];
  if (facts.input_cost_per_token == null) {
    note(
      ['model_name'],
      'its price is not known: state `input_cost_per_token` and `output_cost_per_token`, or give the price map with --prices',
    );
    return undefined;
  }
  if (facts.max_input_tokens == null && facts.mode !== 'embedding') {
    note(
      ['model_name'],
      'its context length is not known: state `max_input_tokens` in its `model_info`, or give the price map with --prices',
    );
    return undefined;
  }
  const id = made.context.idFor(name, creator);
  const imported = importModels([litellmModel(id, facts)], {
    provider: made.provider,
    creator,
    privacyClass,
    asOf,
    given: {},
  });
  const [model] = imported?.file.models ?? [];
  if (model === undefined) {
    note(['model_name'], imported?.leftOut[0]?.reason ?? 'its facts cannot be read');
    return undefined;
  }
  return { ...model, name, routes: model.routes.map((route) => ({ ...route, upstream_model: made.upstream })) };
}
