import { afterEach } from 'vitest';
import { answerChat } from './provider.ts';
import { describeStage, type StageOptions } from './stage/describe-stage.ts';
import type { ModelSpec, ProviderSpec, StageSpec } from './stage/spec.ts';
import type { Spares, Stage } from './stage/stage.ts';

/** The service's own key at `acme`. Only that provider may ever see it. */
export const acmeApiKey = 'acme-key-5f0c2d';

/** Texts that must never reach a client: the id, the name and the model names of the unlisted provider. */
export const hiddenMarks = ['hiddenco', 'Hidden Company', 'hush-v1'] as const;

/** Tests may cause failures of `flaky` only. */
const providers: Readonly<Record<string, ProviderSpec>> = {
  acme: { name: 'Acme', api_key_env: 'ACME_API_KEY' },
  'acme/eu': { name: 'Acme Europe' },
  beta: { name: 'Beta', privacy: 'anonymous' },
  hiddenco: { name: 'Hidden Company', listed: false },
  vault: { name: 'Vault', privacy: 'tee' },
  flaky: { name: 'Flaky' },
};

const route = (upstream: string, input: number, output: number, capabilities: object = {}) =>
  ({ upstream, pricing: [input, output], capabilities }) as const;

const able = { tools: true, structured_output: true };
const thinks = { ...able, reasoning: { efforts: ['low', 'medium', 'high'], can_disable: true } };

const texts: Readonly<Record<string, ModelSpec>> = {
  'acme/small': { routes: { acme: route('small-v1', 0.5, 1.5, able) } },
  'acme/seeing': { routes: { acme: route('seeing-v1', 0.5, 1.5, { ...able, vision: true }) } },
  'acme/plain': { routes: { acme: route('plain-v1', 0.5, 1.5) } },
  'acme/thinker': { routes: { acme: route('thinker-v1', 0.5, 1.5, thinks) } },
  'acme/regional': { routes: { 'acme/eu': route('regional-v1', 0.5, 1.5), beta: route('regional-beta', 0.1, 0.2) } },
  'acme/wide': {
    routes: { vault: route('wide-tee', 3, 6), acme: route('wide-v1', 2, 4), beta: route('wide-beta', 1, 2) },
  },
  'acme/measured': { routes: { acme: route('measured-v1', 0.5, 1.5) } },
  'acme/roomy': { routes: { acme: route('roomy-v1', 0.5, 1.5) }, context_length: 64_000 },
  'beta/chat': { routes: { beta: route('beta-chat-v1', 0.25, 0.75) } },
  'shadow/only': { routes: { hiddenco: route('hush-v1', 0.5, 1.5) } },
  'shadow/mixed': { routes: { hiddenco: route('hush-v1', 0.5, 1.5), acme: route('mixed-v1', 1, 3) } },
  'flaky/chat': { routes: { flaky: route('flaky-v1', 0.5, 1.5) } },
};

const models: Readonly<Record<string, ModelSpec>> = {
  ...Object.fromEntries(Object.entries(texts).map(([id, model]) => [id, { ...model, name: `Name of ${id}` }])),
  'acme/embed': {
    type: 'embedding',
    context_length: 8192,
    routes: { acme: { upstream: 'embed-1', pricing: { input: 0.02 } } },
  },
  'beta/paint': { type: 'image', routes: { beta: { upstream: 'paint-1', pricing: { image: 0.04 } } } },
  'beta/voice': { type: 'tts', routes: { beta: { upstream: 'voice-1', pricing: { input_characters: 15 } } } },
};

export const modelIds: readonly string[] = Object.keys(models);
/** The providers' names of the models, which clients must not see. */
export const upstreamModels: readonly string[] = Object.values(models).flatMap(({ routes }) =>
  Object.values(routes).map((route) => ('upstream' in route ? String(route.upstream) : '')),
);

/** The providers and models of most tests that are not about either. */
export const acme: StageSpec = {
  providers,
  models,
  features: [],
  answers: () => answerChat(),
  environment: { ACME_API_KEY: acmeApiKey },
  // The provider `vault` has no real enclave.
  enclaves: 'assumed',
};

/** The tests of one concept. Concepts share a service because each start takes seconds. */
export type Concept = (stage: Stage) => void;

export interface ConformanceOptions
  extends Spares,
    Pick<StageOptions, 'planes'>,
    Pick<StageSpec, 'environment' | 'features'> {}

/** Runs concepts against one service, or one for each of `planes`. */
export async function describeConformance(
  name: string,
  concepts: readonly Concept[],
  { environment, features = [], accounts = 0, keys = 0, ...planes }: ConformanceOptions = {},
): Promise<void> {
  await describeStage(
    name,
    { ...acme, features, environment: { ...acme.environment, ...environment } },
    (stage) => {
      afterEach(() => stage.reset());
      for (const concept of concepts) concept(stage);
    },
    { ...planes, spares: { accounts, keys } },
  );
}
