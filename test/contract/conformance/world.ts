import { type FakeProvider, startProvider } from '../../kit/provider.ts';

/** The service's own key at `acme`; nobody but that provider may ever see it. */
export const acmeApiKey = 'acme-key-5f0c2d';

/** What must never reach a client: the id, the name and the model names of the provider that is not listed. */
export const hiddenMarks = ['hiddenco', 'Hidden Company', 'hush-v1'] as const;

interface ProviderSpec {
  readonly id: string;
  readonly name: string;
  readonly privacy: 'anonymous' | 'private' | 'tee';
  readonly more?: object;
}

/** `tee` needs a family of evidence, and `flaky` is the one whose failures a test may cause. */
const providers: readonly ProviderSpec[] = [
  { id: 'acme', name: 'Acme', privacy: 'private', more: { api_key_env: 'ACME_API_KEY' } },
  { id: 'acme/eu', name: 'Acme Europe', privacy: 'private' },
  { id: 'beta', name: 'Beta', privacy: 'anonymous' },
  { id: 'hiddenco', name: 'Hidden Company', privacy: 'private', more: { listed: false } },
  { id: 'vault', name: 'Vault', privacy: 'tee', more: { attestation: { family: 'near' } } },
  { id: 'flaky', name: 'Flaky', privacy: 'private' },
];

const privacyOf = new Map(providers.map(({ id, privacy }) => [id, privacy]));

const route = (provider: string, upstream: string, input: number, output: number, capabilities: object = {}) => ({
  provider,
  upstream_model: upstream,
  privacy_class: privacyOf.get(provider),
  pricing: { input, output },
  capabilities,
});

const text = (id: string, ...routes: readonly object[]) => ({
  id,
  name: `Name of ${id}`,
  model_type: 'text',
  context_length: 8000,
  max_output_tokens: 1000,
  routes,
});

const able = { tools: true, structured_output: true };
const thinks = { ...able, reasoning: { efforts: ['low', 'medium', 'high'], can_disable: true } };

const models = [
  text('acme/small', route('acme', 'small-v1', 0.5, 1.5, able)),
  text('acme/seeing', route('acme', 'seeing-v1', 0.5, 1.5, { ...able, vision: true })),
  text('acme/plain', route('acme', 'plain-v1', 0.5, 1.5)),
  text('acme/thinker', route('acme', 'thinker-v1', 0.5, 1.5, thinks)),
  text('acme/regional', route('acme/eu', 'regional-v1', 0.5, 1.5), route('beta', 'regional-beta', 0.1, 0.2)),
  text('acme/wide', route('vault', 'wide-tee', 3, 6), route('acme', 'wide-v1', 2, 4), route('beta', 'wide-beta', 1, 2)),
  text('acme/measured', route('acme', 'measured-v1', 0.5, 1.5)),
  { ...text('acme/roomy', route('acme', 'roomy-v1', 0.5, 1.5)), context_length: 64_000 },
  text('beta/chat', route('beta', 'beta-chat-v1', 0.25, 0.75)),
  text('shadow/only', route('hiddenco', 'hush-v1', 0.5, 1.5)),
  text('shadow/mixed', route('hiddenco', 'hush-v1', 0.5, 1.5), route('acme', 'mixed-v1', 1, 3)),
  text('flaky/chat', route('flaky', 'flaky-v1', 0.5, 1.5)),
  {
    id: 'acme/embed',
    model_type: 'embedding',
    context_length: 8192,
    routes: [{ provider: 'acme', upstream_model: 'embed-1', privacy_class: 'private', pricing: { input: 0.02 } }],
  },
  {
    id: 'beta/paint',
    model_type: 'image',
    routes: [{ provider: 'beta', upstream_model: 'paint-1', privacy_class: 'anonymous', pricing: { image: 0.04 } }],
  },
  {
    id: 'beta/voice',
    model_type: 'tts',
    routes: [
      { provider: 'beta', upstream_model: 'voice-1', privacy_class: 'anonymous', pricing: { input_characters: 15 } },
    ],
  },
];

export const modelIds: readonly string[] = models.map(({ id }) => id);
/** How providers call their models: their own business. */
export const upstreamModels: readonly string[] = models.flatMap(({ routes }) =>
  (routes as { upstream_model: string }[]).map(({ upstream_model }) => upstream_model),
);

/** Providers with the registry and the catalog that name them. */
export interface World {
  readonly registry: string;
  readonly catalog: string;
  provider(id: string): FakeProvider;
  /** Every provider answers well again, and nothing was asked. */
  reset(): void;
  stop(): Promise<void>;
}

export async function startWorld(answer: () => Parameters<FakeProvider['answer']>[0]): Promise<World> {
  const fakes = new Map<string, FakeProvider>();
  for (const { id } of providers) fakes.set(id, await startProvider(answer()));
  return {
    // JSON is YAML.
    registry: JSON.stringify({
      providers: providers.map(({ id, name, privacy, more }) => ({
        id,
        name,
        adapter: 'openai',
        base_url: fakes.get(id)?.baseUrl,
        privacy_class: privacy,
        ...more,
      })),
    }),
    catalog: JSON.stringify({ models }),
    provider(id) {
      const fake = fakes.get(id);
      if (fake === undefined) throw new Error(`there is no provider ${id}`);
      return fake;
    },
    reset() {
      for (const fake of fakes.values()) {
        fake.seen.length = 0;
        fake.answer(answer());
      }
    },
    async stop() {
      for (const fake of fakes.values()) await fake.stop();
    },
  };
}
