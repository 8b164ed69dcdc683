import { afterEach, beforeAll } from 'vitest';
import { describeInWorld, type PlanesOptions } from './both-planes.ts';
import { type CatalogFiles, filesOf, type Prices, providerEntry, routeEntry, textModel } from './catalog.ts';
import { answerChat, type FakeProvider, type SeenRequest, startProvider } from './provider.ts';
import type { Service, TestAccount } from './service.ts';

/** The service's own key at `acme`. Only that provider may ever see it. */
export const acmeApiKey = 'acme-key-5f0c2d';

/** Texts that must never reach a client: the id, the name and the model names of the unlisted provider. */
export const hiddenMarks = ['hiddenco', 'Hidden Company', 'hush-v1'] as const;

interface ProviderSpec {
  readonly id: string;
  readonly name: string;
  readonly privacy: 'anonymous' | 'private' | 'tee';
  readonly more?: object;
}

/** A `tee` provider needs a family of evidence. Tests may cause failures of `flaky` only. */
const providers: readonly ProviderSpec[] = [
  { id: 'acme', name: 'Acme', privacy: 'private', more: { api_key_env: 'ACME_API_KEY' } },
  { id: 'acme/eu', name: 'Acme Europe', privacy: 'private' },
  { id: 'beta', name: 'Beta', privacy: 'anonymous' },
  { id: 'hiddenco', name: 'Hidden Company', privacy: 'private', more: { listed: false } },
  { id: 'vault', name: 'Vault', privacy: 'tee', more: { attestation: { family: 'near' } } },
  { id: 'flaky', name: 'Flaky', privacy: 'private' },
];

const privacyOf = new Map(providers.map(({ id, privacy }) => [id, privacy]));

const priced = (provider: string, upstream: string, pricing: Prices, capabilities: object = {}) =>
  routeEntry(provider, pricing, { upstream_model: upstream, privacy_class: privacyOf.get(provider), capabilities });

const route = (provider: string, upstream: string, input: number, output: number, capabilities: object = {}) =>
  priced(provider, upstream, { input, output }, capabilities);

const text = (id: string, ...routes: readonly ReturnType<typeof route>[]) => ({
  ...textModel(id, routes, { name: `Name of ${id}` }),
  id,
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
    routes: [priced('acme', 'embed-1', { input: 0.02 })],
  },
  {
    id: 'beta/paint',
    model_type: 'image',
    routes: [priced('beta', 'paint-1', { image: 0.04 })],
  },
  {
    id: 'beta/voice',
    model_type: 'tts',
    routes: [priced('beta', 'voice-1', { input_characters: 15 })],
  },
];

export const modelIds: readonly string[] = models.map(({ id }) => id);
/** The providers' names of the models, which clients must not see. */
export const upstreamModels: readonly string[] = models.flatMap(({ routes }) =>
  routes.map(({ upstream_model }) => upstream_model),
);

/** Providers with the registry and the catalog that name them. */
export interface World extends CatalogFiles {
  provider(id: string): FakeProvider;
  /** Restores the normal answers of every provider and clears the recorded requests. */
  reset(): void;
  stop(): Promise<void>;
}

export async function startWorld(answer: () => Parameters<FakeProvider['answer']>[0]): Promise<World> {
  const fakes = new Map<string, FakeProvider>();
  for (const { id } of providers) fakes.set(id, await startProvider(answer()));
  return {
    ...filesOf(
      providers.map(({ id, name, privacy, more }) =>
        providerEntry(id, fakes.get(id)?.baseUrl, { name, privacy_class: privacy, ...more }),
      ),
      models,
    ),
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

/** The environment for the tests of one concept. Use it only within tests and hooks. */
export interface Suite {
  readonly service: Service;
  readonly world: World;
  /** This account has 1000 USD. */
  readonly account: TestAccount;
  /**
   * Returns an account with 10 USD for one test. It is created in advance, because brokers learn of an account only
   * after half a second.
   */
  spareAccount(): TestAccount;
  /** Returns a key of `account` for one test. */
  spareKey(): string;
  /** Returns the last request that a provider received. Default: acme. */
  lastSeen(provider?: string): SeenRequest;
  /** The number of requests that all providers received together. */
  readonly asked: number;
}

/** The tests of one concept. Concepts share a service because each start takes seconds. */
export type Concept = (suite: Suite) => void;

/** The number of accounts and keys to create in advance, for tests that need their own. */
export interface Spares {
  readonly accounts?: number;
  readonly keys?: number;
}

/** Runs concepts against one service, or one for each of `planes`. */
export async function describeConformance(
  name: string,
  concepts: readonly Concept[],
  spares: Spares = {},
  environment: Readonly<Record<string, string>> = {},
  options: PlanesOptions = {},
): Promise<void> {
  await describeInWorld(
    name,
    {
      start: () => startWorld(answerChat),
      setupOf: (world) => ({
        registry: world.registry,
        catalog: world.catalog,
        // Embedded mode enables media by default. The tests need the default of the other modes, which is off.
        environment: { ACME_API_KEY: acmeApiKey, IMAGE_GENERATION: 'off', SPEECH_SYNTHESIS: 'off', ...environment },
        // The provider `vault` has no real enclave.
        enclaves: 'assumed',
        stop: () => world.stop(),
      }),
    },
    (planes) => {
      let account: TestAccount | undefined;
      const accounts: TestAccount[] = [];
      const keys: string[] = [];
      const present = <T>(value: T | undefined): T => {
        if (value === undefined) throw new Error('none: either outside of tests and hooks, or more spares are needed');
        return value;
      };
      beforeAll(async () => {
        const { service } = planes;
        const made = service.createAccount({ usd: 1000 });
        const spare = Array.from({ length: spares.accounts ?? 0 }, () => service.createAccount());
        const owner = await made;
        const spareKeys = Array.from({ length: spares.keys ?? 0 }, () => service.createKey(owner));
        accounts.push(...(await Promise.all(spare)));
        keys.push(...(await Promise.all(spareKeys)));
        account = owner;
      });
      afterEach(() => planes.world.reset());
      const suite: Suite = {
        get service() {
          return planes.service;
        },
        get world() {
          return planes.world;
        },
        get account() {
          return present(account);
        },
        spareAccount: () => present(accounts.pop()),
        spareKey: () => present(keys.pop()),
        lastSeen: (provider = 'acme') => {
          const seen = planes.world.provider(provider).seen.at(-1);
          if (seen === undefined) throw new Error(`${provider} was not asked`);
          return seen;
        },
        get asked() {
          return providers.reduce((sum, { id }) => sum + planes.world.provider(id).seen.length, 0);
        },
      };
      for (const concept of concepts) concept(suite);
    },
    options,
  );
}
