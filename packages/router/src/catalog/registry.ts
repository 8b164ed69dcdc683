import {
  comparePrivacy,
  e2eeFamilies,
  type Operation,
  type PrivacyClass,
  privacyClassSchema,
  providerIdSchema,
} from '@sotto/wire';
import { type FileProblem, type FileResult, readYamlAs } from '@sotto/yaml';
import * as z from 'zod';
import { type ChatParameter, chatParameters } from '../parameters/parameter-names.ts';
import { type ModelType, modelTypes } from './catalog.ts';
import { extendsSchema } from './catalog-file.ts';
import { extendRegistry } from './extend-built-in.ts';
import { matchesProvider, otherProviderId } from './provider-id.ts';

const adapterNames = ['openai', 'anthropic', 'google', 'bedrock', 'azure', 'cohere'] as const;
export type AdapterName = (typeof adapterNames)[number];

export const adapterModelTypes = {
  openai: ['text', 'embedding', 'image', 'tts'],
  anthropic: ['text'],
  google: ['text', 'embedding'],
  bedrock: ['text'],
  azure: ['text', 'embedding', 'image', 'tts'],
  cohere: ['embedding'],
} as const satisfies Record<AdapterName, readonly ModelType[]>;

/** The chat parameters that an adapter's API does not have (docs/reference/provider-fields.md). */
const missingParameters: Readonly<Record<AdapterName, readonly ChatParameter[]>> = {
  openai: [],
  anthropic: ['seed', 'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'min_p'],
  google: ['parallel_tool_calls', 'repetition_penalty', 'min_p'],
  bedrock: [
    ...(['seed', 'frequency_penalty', 'presence_penalty', 'repetition_penalty', 'top_k', 'min_p'] as const),
    'parallel_tool_calls',
  ],
  azure: ['repetition_penalty', 'top_k', 'min_p'],
  cohere: [],
};

const milliseconds = (fallback: number) => z.int().min(1).max(3_600_000).default(fallback);
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

const baseUrlSchema = z.string().superRefine((text, context) => {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    context.addIssue({ code: 'custom', message: 'must be an https URL' });
  } else if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    context.addIssue({ code: 'custom', message: 'must be an origin and a path: no credentials, query or fragment' });
  }
});

const variableSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{1,63}$/, { error: 'must be the name of an environment variable' });

const providerSchema = z
  .strictObject({
    id: providerIdSchema.refine((id) => id !== otherProviderId, { error: '`other` stands for unlisted providers' }),
    name: z.string().min(1).max(100),
    adapter: z.enum(adapterNames),
    base_url: baseUrlSchema,
    /** Allows http to a private network. The broker checks the address at each connection. */
    insecure_http: z.boolean().default(false),
    /** The variable with the provider's key. */
    api_key_env: variableSchema.optional(),
    /** Several keys. Each attempt uses one of those that the environment has, at random by weight. */
    api_keys: z
      .array(z.strictObject({ env: variableSchema, weight: z.int().min(1).max(1_000_000_000).default(1) }))
      .min(1)
      .max(100)
      .optional(),
    privacy_class: privacyClassSchema,
    models: z.array(z.strictObject({ match: z.string().min(1), privacy_class: privacyClassSchema })).optional(),
    listed: z.boolean().default(true),
    timeouts: z
      .strictObject({
        connect_ms: milliseconds(5000),
        first_byte_ms: milliseconds(30_000),
        idle_ms: milliseconds(60_000),
        total_ms: milliseconds(600_000),
      })
      .prefault({}),
    attestation: z
      .strictObject({
        family: z.enum(e2eeFamilies),
        measurements: z.array(z.string()).optional(),
        /** If given, only these processors (TDX: PPID) and chips (SEV-SNP: CHIP_ID) are accepted. */
        platforms: z
          .array(
            z.string().regex(/^(?:[0-9a-f]{32}|[0-9a-f]{128})$/, { error: 'must be 32 or 128 lower-case hex digits' }),
          )
          .min(1)
          .optional(),
      })
      .optional(),
    /** How this provider's API differs from the adapter's. */
    request: z
      .strictObject({
        /**
         * The field that requests an image as base64; `b64_json` if absent. `none`: the provider always returns base64
         * and accepts no such field.
         */
        image_response_format: z.enum(['b64_json', 'base64', 'none']).optional(),
        /** The voice for speech requests that name none. If absent, the provider receives no voice either. */
        default_voice: z.string().min(1).max(128).optional(),
        max_tokens_field: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
        /** Fixed fields of every request, such as the switch that turns storing off. */
        extra_body: z.record(z.string(), z.unknown()).default({}),
        /** The fields by which a request turns reasoning off, on models that can do without it. */
        reasoning_off: z.record(z.string(), z.unknown()).default({ reasoning_effort: 'none' }),
        /**
         * The field in which assistant messages return their reasoning to the provider. `reasoning_details` is OpenRouter's form: the
         * text in `reasoning`, and its signed or encrypted pieces. If absent, it is sent only to providers whose `reasoning_off` has
         * OpenRouter's object `reasoning`.
         */
        reasoning_field: z.enum(['reasoning_content', 'reasoning', 'reasoning_details']).optional(),
        /** The ids of tool calls that the provider accepts. Default: `nine_alphanumerics` for `mistral`, otherwise any of 40 characters. */
        tool_call_ids: z.enum(['any', 'nine_alphanumerics']).optional(),
        /** The optional fields that the provider refuses; `name` is that of messages. Default: all for `mistral`, otherwise none. */
        omitted_fields: z.array(z.enum(['stream_options', 'user', 'name'])).optional(),
        /** The name of `seed`. Default: `random_seed` for `mistral`, otherwise `seed`. */
        seed_field: z.enum(['seed', 'random_seed']).optional(),
        /** Where the provider accepts system messages. Default: `first` for `mistral`, otherwise `anywhere`. */
        system_messages: z.enum(['anywhere', 'first']).optional(),
      })
      .prefault({}),
  })
  .superRefine((provider, context) => {
    const { api_key_env: single, api_keys: several } = provider;
    if (single !== undefined && several !== undefined) {
      context.addIssue({
        code: 'custom',
        path: ['api_keys'],
        message: '`api_keys` replaces `api_key_env`: set only one',
      });
    }
    const twice = several?.findIndex(({ env }, at) => several.findIndex((other) => other.env === env) !== at) ?? -1;
    if (twice >= 0) {
      context.addIssue({
        code: 'custom',
        path: ['api_keys', twice],
        message: 'the variable is repeated: add the weights up',
      });
    }
    const claims = [provider.privacy_class, ...(provider.models ?? []).map((model) => model.privacy_class)];
    for (const [field, message] of plainHttpProblems(provider, claims)) {
      context.addIssue({ code: 'custom', path: [field], message });
    }
    if (claims.some((claim) => comparePrivacy(claim, 'tee') >= 0) && provider.attestation === undefined) {
      const message = '`attestation` is required where the privacy class is tee or e2ee';
      context.addIssue({ code: 'custom', path: ['attestation'], message });
    }
    if (!provider.listed && provider.attestation !== undefined) {
      const message = "`listed: false` is not possible beside `attestation`: an enclave's evidence names its provider";
      context.addIssue({ code: 'custom', path: ['listed'], message });
    }
  });

/** What stands against a provider's connections without TLS, by field. */
function plainHttpProblems(
  provider: {
    readonly base_url: string;
    readonly insecure_http: boolean;
    readonly attestation?: object | undefined;
  },
  claims: readonly PrivacyClass[],
): [field: string, message: string][] {
  const { protocol, hostname } = URL.parse(provider.base_url) ?? { protocol: '', hostname: '' };
  // What is no web address at all is reported already.
  if (protocol !== 'https:' && protocol !== 'http:') return [];
  if (!provider.insecure_http) {
    return protocol === 'https:' || loopbackHosts.has(hostname)
      ? []
      : [
          [
            'base_url',
            'must be https: plain http is for loopback, or with `insecure_http: true` for a private network',
          ],
        ];
  }
  const problems: [string, string][] = [];
  if (protocol === 'https:') problems.push(['insecure_http', 'is for a `base_url` that begins with http://']);
  if (provider.attestation !== undefined) {
    problems.push(['insecure_http', "is not possible beside `attestation`: an enclave's evidence names its TLS key"]);
  }
  if (claims.some((claim) => comparePrivacy(claim, 'private') > 0)) {
    problems.push([
      'privacy_class',
      'is at most private where `insecure_http` is true: the network can read the content',
    ]);
  }
  return problems;
}

/** The schema of PROVIDERS_FILE (docs/operate/providers-and-catalog.md). */
export const registryFileSchema = z.strictObject({
  /** Adds the providers of the built-in registry. */
  extends: extendsSchema,
  providers: z.array(providerSchema).min(1).max(1000),
});

/** One provider of the registry file, with the field names of the file. */
export type RegistryProvider = z.infer<typeof providerSchema>;

/** The variables with the keys of a provider, and their weights. Empty if it needs no key. */
export const keysOf = ({
  api_key_env: single,
  api_keys: several,
}: Pick<RegistryProvider, 'api_key_env' | 'api_keys'>): readonly { readonly env: string; readonly weight: number }[] =>
  several ?? (single === undefined ? [] : [{ env: single, weight: 1 }]);

/** Mistral's API refuses what others ignore: unknown fields, other forms of ids, and system messages after the first. */
const mistralRequest: Partial<RegistryProvider['request']> = {
  tool_call_ids: 'nine_alphanumerics',
  omitted_fields: ['stream_options', 'user', 'name'],
  seed_field: 'random_seed',
  system_messages: 'first',
};

/** Adds the differences that we know of Mistral's API, whichever registry names it. */
const withOwnDefaults = (provider: RegistryProvider): RegistryProvider =>
  matchesProvider('mistral', provider.id)
    ? { ...provider, request: { ...mistralRequest, ...provider.request } }
    : provider;

/** The provider registry. It is part of the broker's measured image (docs/concepts/attestation.md). */
export interface ProviderRegistry {
  /** SHA-256 of the file's bytes, lower-case hex. */
  readonly digest: string;
  readonly providers: readonly RegistryProvider[];
}

/** Checks of a registry that need more than its text. Each returns the problem, or undefined. */
export interface RegistryChecks {
  /** Checks the form of a measurement. */
  readonly problemOfMeasurement?: (measurement: string) => string | undefined;
  /** Checks whether this broker may reach a host without TLS. */
  readonly problemOfPlainHttp?: (hostname: string) => string | undefined;
  /** The text of the built-in registry, which the file may extend. */
  readonly builtIn?: string | undefined;
}

/**
 * Parses a provider registry (PROVIDERS_FILE). The caller computes `digest` over the bytes that `text` was decoded
 * from. `checks` knows what only the broker can judge.
 */
export function parseRegistry(text: string, digest: string, checks: RegistryChecks = {}): FileResult<ProviderRegistry> {
  const builtIn = checks.builtIn === undefined ? undefined : { text: checks.builtIn };
  const read = readYamlAs(text, registryFileSchema, extendRegistry(builtIn));
  if (!read.ok) return read;
  const { file, source } = read.value;
  const problems: FileProblem[] = [];
  const seen = new Set<string>();
  for (const [index, provider] of file.providers.entries()) {
    const report = (path: PropertyKey[], problem: string): void => {
      const line = source.lineOf(['providers', index, ...path]);
      problems.push({ line, message: `provider ${provider.id}${problem}` });
    };
    if (seen.has(provider.id)) report(['id'], ' is repeated');
    seen.add(provider.id);
    const plain = provider.insecure_http ? checks.problemOfPlainHttp?.(new URL(provider.base_url).hostname) : undefined;
    if (plain !== undefined) report(['insecure_http'], `: ${plain}`);
    for (const [at, measurement] of (provider.attestation?.measurements ?? []).entries()) {
      const problem = checks.problemOfMeasurement?.(measurement);
      if (problem !== undefined) report(['attestation', 'measurements', at], `: ${problem}`);
    }
  }
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: { digest, providers: file.providers.map(withOwnDefaults) } };
}

/** The part of the broker's registry that control needs for planning. It omits addresses and the names of secrets. */
export const registryPublicSchema = z.strictObject({
  digest: z.string(),
  providers: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      listed: z.boolean(),
      privacy_class: privacyClassSchema,
      models: z.array(z.strictObject({ match: z.string(), privacy_class: privacyClassSchema })).optional(),
      /** The kinds of models that its API serves. Absent: all. */
      model_types: z.array(z.enum(modelTypes)).optional(),
      /** The chat parameters that its API does not have, whatever a catalog lists. Absent: none. */
      missing_parameters: z.array(z.enum(chatParameters)).optional(),
      /** Whether brokers reach it without TLS, in a private network. Absent: no. */
      insecure_http: z.literal(true).optional(),
      /** The family of its enclaves' evidence. Absent: it has no enclaves. */
      enclave_family: z.enum(e2eeFamilies).optional(),
      /** Whether this broker can call it: its key is in the environment, or it does not need one. */
      available: z.boolean(),
    }),
  ),
  /** The optional operations that the brokers serve. If absent, control uses its own settings. */
  media: z.strictObject({ image: z.boolean(), speech: z.boolean() }).optional(),
});
export type RegistryPublic = z.infer<typeof registryPublicSchema>;

/** The operations that are off unless the operator enables them. */
export type MediaSwitches = NonNullable<RegistryPublic['media']>;

export const isSwitchedOn = (media: MediaSwitches, operation: Operation): boolean =>
  operation === 'image' || operation === 'speech' ? media[operation] : true;

/**
 * The public half of a registry. `available` says whether a provider has everything that a call needs. `media` says
 * which optional operations the broker serves.
 */
export function publicRegistry(
  registry: ProviderRegistry,
  available: (provider: RegistryProvider) => boolean,
  media?: MediaSwitches,
): RegistryPublic {
  return {
    digest: registry.digest,
    ...(media === undefined ? {} : { media }),
    providers: registry.providers.map((provider) => ({
      id: provider.id,
      name: provider.name,
      listed: provider.listed,
      privacy_class: provider.privacy_class,
      ...(provider.models === undefined ? {} : { models: provider.models }),
      model_types: [...adapterModelTypes[provider.adapter]],
      ...(missingParameters[provider.adapter].length === 0
        ? {}
        : { missing_parameters: [...missingParameters[provider.adapter]] }),
      ...(provider.insecure_http ? { insecure_http: true } : {}),
      ...(provider.attestation === undefined ? {} : { enclave_family: provider.attestation.family }),
      available: available(provider),
    })),
  };
}

/** Whether a provider's API serves models of a type. */
export const servesType = (
  { model_types: types }: Pick<RegistryPublic['providers'][number], 'model_types'>,
  type: ModelType,
): boolean => types === undefined || types.includes(type);

/**
 * The strongest class that a provider's route may claim for an upstream model. The first rule that matches the model
 * can only lower the provider's class. If rules exist and none matches, the class is `anonymous`.
 */
export function strongestAllowedClass(
  provider: Pick<RegistryPublic['providers'][number], 'privacy_class' | 'models'>,
  upstreamModel: string,
): PrivacyClass {
  if (provider.models === undefined) return provider.privacy_class;
  const rule = provider.models.find(({ match }) => matchesGlob(match, upstreamModel));
  if (rule === undefined) return 'anonymous';
  return comparePrivacy(rule.privacy_class, provider.privacy_class) < 0 ? rule.privacy_class : provider.privacy_class;
}

/** Matches `*` to any run of characters, and every other character to itself. Takes linear time for any pattern. */
function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(head)) return false;
  let at = head.length;
  const tail = rest.pop() ?? '';
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}
