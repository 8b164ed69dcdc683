import {
  comparePrivacy,
  e2eeFamilies,
  type Operation,
  type PrivacyClass,
  privacyClassSchema,
  providerIdSchema,
} from '@sotto/wire';
import { z } from 'zod';
import { type ModelType, modelTypes } from './catalog.ts';
import { otherProviderId } from './provider-id.ts';
import { type FileProblem, type FileResult, readYamlAs } from './yaml-source.ts';

/** Adapters that a registry may name. */
const adapterNames = ['openai', 'anthropic', 'google', 'bedrock', 'azure', 'cohere'] as const;
export type AdapterName = (typeof adapterNames)[number];

/** The kinds of models that each adapter speaks to. */
export const adapterModelTypes = {
  openai: ['text', 'embedding', 'image', 'tts'],
  anthropic: ['text'],
  google: ['text', 'embedding'],
  bedrock: ['text'],
  azure: ['text', 'embedding', 'image', 'tts'],
  cohere: ['embedding'],
} as const satisfies Record<AdapterName, readonly ModelType[]>;

const milliseconds = (fallback: number) => z.int().min(1).max(3_600_000).default(fallback);
const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

const baseUrlSchema = z.string().superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    context.addIssue({ code: 'custom', message: 'must be an https URL' });
  } else if (url.protocol === 'http:' && !loopbackHosts.has(url.hostname)) {
    context.addIssue({ code: 'custom', message: 'must be https: plain http is for loopback only' });
  } else if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    context.addIssue({ code: 'custom', message: 'must be an origin and a path: no credentials, query or fragment' });
  }
});

const providerSchema = z
  .strictObject({
    id: providerIdSchema.refine((id) => id !== otherProviderId, { error: '`other` stands for unlisted providers' }),
    name: z.string().min(1).max(100),
    adapter: z.enum(adapterNames),
    base_url: baseUrlSchema,
    api_key_env: z
      .string()
      .regex(/^[A-Z][A-Z0-9_]{1,63}$/, { error: 'must be the name of an environment variable' })
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
      .strictObject({ family: z.enum(e2eeFamilies), measurements: z.array(z.string()).optional() })
      .optional(),
    /** How this provider's dialect of the adapter's API differs. */
    request: z
      .strictObject({
        /** What makes it answer an image as base64, absent: `b64_json`; `none`: it always does, and takes no such field. */
        image_response_format: z.enum(['b64_json', 'base64', 'none']).optional(),
        /** The voice for speech requests that name none; absent: the provider is not told of one either. */
        default_voice: z.string().min(1).max(128).optional(),
        max_tokens_field: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
        /** Fixed fields of every request, such as the switch that turns storing off. */
        extra_body: z.record(z.string(), z.unknown()).default({}),
        /** The fields by which a request switches thinking off, on models that can do without. */
        reasoning_off: z.record(z.string(), z.unknown()).default({ reasoning_effort: 'none' }),
        /** The field in which assistant messages carry their reasoning back; absent: it stays here. */
        reasoning_field: z.enum(['reasoning_content', 'reasoning']).optional(),
      })
      .prefault({}),
  })
  .superRefine((provider, context) => {
    const claims = [provider.privacy_class, ...(provider.models ?? []).map((model) => model.privacy_class)];
    if (claims.some((claim) => comparePrivacy(claim, 'tee') >= 0) && provider.attestation === undefined) {
      const message = '`attestation` is required where the privacy class is tee or e2ee';
      context.addIssue({ code: 'custom', path: ['attestation'], message });
    }
    if (!provider.listed && provider.attestation !== undefined) {
      const message = "`listed: false` is not possible beside `attestation`: an enclave's evidence names its provider";
      context.addIssue({ code: 'custom', path: ['listed'], message });
    }
  });

const registryFileSchema = z.strictObject({ providers: z.array(providerSchema).min(1).max(1000) });

/** One provider of the registry file, in its own spelling. */
export type RegistryProvider = z.infer<typeof providerSchema>;

/** The provider registry: part of the broker's measured image (design 1). */
export interface ProviderRegistry {
  /** SHA-256 of the file's bytes, lower-case hex. */
  readonly digest: string;
  readonly providers: readonly RegistryProvider[];
}

/**
 * Parses a provider registry (PROVIDERS_FILE, design 6).
 * `digest` is that of the bytes the text was decoded from; the caller computes it. `problemOf` tells what is wrong with a
 * measurement: their form is the verifier's.
 */
export function parseRegistry(
  text: string,
  digest: string,
  problemOf: (measurement: string) => string | undefined = () => undefined,
): FileResult<ProviderRegistry> {
  const read = readYamlAs(text, registryFileSchema);
  if (!read.ok) return read;
  const { file, source } = read.value;
  const problems: FileProblem[] = [];
  const seen = new Set<string>();
  for (const [index, provider] of file.providers.entries()) {
    if (seen.has(provider.id)) {
      problems.push({
        line: source.lineOf(['providers', index, 'id']),
        message: `provider ${provider.id} is repeated`,
      });
    }
    seen.add(provider.id);
    for (const [at, measurement] of (provider.attestation?.measurements ?? []).entries()) {
      const problem = problemOf(measurement);
      if (problem === undefined) continue;
      const line = source.lineOf(['providers', index, 'attestation', 'measurements', at]);
      problems.push({ line, message: `provider ${provider.id}: ${problem}` });
    }
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: { digest, providers: file.providers } };
}

/** What the broker publishes of its registry, for control to plan with: no addresses, no names of secrets. */
export const registryPublicSchema = z.strictObject({
  digest: z.string(),
  providers: z.array(
    z.strictObject({
      id: z.string(),
      name: z.string(),
      listed: z.boolean(),
      privacy_class: privacyClassSchema,
      models: z.array(z.strictObject({ match: z.string(), privacy_class: privacyClassSchema })).optional(),
      /** The kinds of models that its API serves; absent: all. */
      model_types: z.array(z.enum(modelTypes)).optional(),
      /** Whether this broker can reach it: its key is in the environment, or it needs none. */
      available: z.boolean(),
    }),
  ),
  /** Which of the gated operations the brokers serve; absent: what control is told itself. */
  media: z.strictObject({ image: z.boolean(), speech: z.boolean() }).optional(),
});
export type RegistryPublic = z.infer<typeof registryPublicSchema>;

/** The operations that are on only where the operator says so (design 6). */
export interface MediaSwitches {
  readonly image: boolean;
  readonly speech: boolean;
}

/** Whether an operation is on. */
export const isSwitchedOn = (media: MediaSwitches, operation: Operation): boolean =>
  operation === 'image' || operation === 'speech' ? media[operation] : true;

/**
 * The public half of a registry; `available` tells which providers have what they need to be called, `media` what the
 * broker serves at all.
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
 * The strongest class a provider's route may claim for an upstream model.
 * The first matching rule narrows the provider's class; where rules exist, a model that matches none is `anonymous`.
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

/** `*` stands for any run of characters; everything else for itself. Linear in the text for any pattern. */
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
