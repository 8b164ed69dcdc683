import { freePort } from '../../kit/free-port.ts';
import {
  answerChat,
  type FakeProvider,
  type ProviderHandler,
  type SeenRequest,
  startProvider,
} from '../../kit/provider.ts';
import { type DeafServer, type RawServer, startDeafServer, startRawServer } from './odd-servers.ts';

export type PrivacyClass = 'anonymous' | 'private' | 'tee' | 'e2ee';

export interface ProviderSpec {
  readonly id: string;
  /** Default `private`. */
  readonly privacy?: PrivacyClass;
  readonly listed?: boolean;
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly apiKeyEnv?: string;
  /** `raw`: says what `World.raw` is told; `absent`: refuses connections; `deaf`: takes none. Default: a fake provider. */
  readonly kind?: 'raw' | 'absent' | 'deaf';
}

export interface RouteSpec {
  readonly provider: string;
  /** USD per million tokens, input and output. */
  readonly price: readonly [number, number];
  readonly capabilities?: object;
  readonly context?: number;
  readonly maxOutput?: number;
}

export interface WorldSpec {
  readonly providers: readonly ProviderSpec[];
  /** Models are made in copies, because penalties outlive a test: each test takes a model that nobody has used. */
  readonly shapes: Readonly<Record<string, readonly RouteSpec[]>>;
  readonly copies?: number;
}

interface OddServers {
  readonly raw?: RawServer;
  readonly deaf?: DeafServer;
  readonly absent?: { readonly baseUrl: string };
}

/** The usage that every well-behaved provider here reports. */
export const usualTokens = { promptTokens: 10, completionTokens: 20 };

/** What the usual answer costs at a price, in nano-USD. */
export const usualCost = ([input, output]: readonly [number, number]): bigint =>
  BigInt(Math.round((usualTokens.promptTokens * input + usualTokens.completionTokens * output) * 1000));

/** Fake providers with the registry and the catalog that name them. */
export class World {
  readonly registry: string;
  readonly catalog: string;
  readonly modelIds: readonly string[];
  /** Ids of the providers that were asked since the last `reset`, in order. */
  readonly called: string[] = [];
  readonly #fakes: ReadonlyMap<string, FakeProvider>;
  readonly #odd: OddServers;
  readonly #used = new Map<string, number>();
  readonly #scenes = new Map<string, Scene>();
  readonly #copies: number;

  private constructor(spec: WorldSpec, fakes: ReadonlyMap<string, FakeProvider>, odd: OddServers) {
    const privacyOf = new Map(spec.providers.map(({ id, privacy = 'private' }) => [id, privacy]));
    this.#fakes = fakes;
    this.#odd = odd;
    this.#copies = spec.copies ?? 1;
    this.modelIds = Object.keys(spec.shapes).flatMap((shape) => copiesOf(shape, this.#copies));
    // JSON is YAML.
    this.registry = JSON.stringify({
      providers: spec.providers.map(({ id, privacy = 'private', listed = true, timeouts, apiKeyEnv, kind }) => ({
        id,
        name: id,
        adapter: 'openai',
        base_url: kind === undefined ? fakes.get(id)?.baseUrl : odd[kind]?.baseUrl,
        privacy_class: privacy,
        listed,
        ...(timeouts === undefined ? {} : { timeouts }),
        ...(apiKeyEnv === undefined ? {} : { api_key_env: apiKeyEnv }),
        ...(privacy === 'tee' || privacy === 'e2ee' ? { attestation: { family: 'near' } } : {}),
      })),
    });
    this.catalog = JSON.stringify({
      models: Object.entries(spec.shapes).flatMap(([shape, routes]) =>
        copiesOf(shape, this.#copies).map((id) => ({
          id,
          model_type: 'text',
          context_length: 100_000,
          max_output_tokens: 4_000,
          routes: routes.map(({ provider, price: [input, output], capabilities, context, maxOutput }) => ({
            provider,
            upstream_model: upstreamModel(provider, id),
            privacy_class: privacyOf.get(provider),
            pricing: { input, output },
            ...(capabilities === undefined ? {} : { capabilities }),
            ...(context === undefined ? {} : { context_length: context }),
            ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
          })),
        })),
      ),
    });
    this.reset();
  }

  static async start(spec: WorldSpec): Promise<World> {
    const fakes = new Map<string, FakeProvider>();
    const kinds = new Set(spec.providers.map(({ kind }) => kind));
    for (const { id, kind } of spec.providers) if (kind === undefined) fakes.set(id, await startProvider());
    return new World(spec, fakes, {
      ...(kinds.has('raw') ? { raw: await startRawServer() } : {}),
      ...(kinds.has('deaf') ? { deaf: await startDeafServer() } : {}),
      ...(kinds.has('absent') ? { absent: { baseUrl: `http://127.0.0.1:${await freePort()}/v1` } } : {}),
    });
  }

  /** The provider of the kind `raw`. */
  get raw(): RawServer {
    if (this.#odd.raw === undefined) throw new Error('there is no raw provider');
    return this.#odd.raw;
  }

  /** A model of a shape that no test has used yet. */
  model(shape: string): string {
    const copy = this.#used.get(shape) ?? 0;
    if (copy >= this.#copies) throw new Error(`more copies of ${shape} are needed`);
    this.#used.set(shape, copy + 1);
    return `${shape}/m${copy}`;
  }

  /** As `model`, with providers that answer for this model alone. */
  scene(shape: string): Scene {
    const scene = new Scene(this.model(shape));
    this.#scenes.set(scene.model, scene);
    return scene;
  }

  provider(id: string): FakeProvider {
    const fake = this.#fakes.get(id);
    if (fake === undefined) throw new Error(`there is no provider ${id}`);
    return fake;
  }

  /** Replaces how a provider answers, until the next `reset`. */
  on(id: string, handler: ProviderHandler): void {
    this.provider(id).answer((request, response) => {
      const scene = this.#scenes.get(String(request.body.model).replace(upstreamModel(id, ''), ''));
      if (scene !== undefined) return scene.answer(id, request, response);
      this.called.push(id);
      return handler(request, response);
    });
  }

  /** Has several providers answer the same. */
  onAll(ids: readonly string[], handler: ProviderHandler): void {
    for (const id of ids) this.on(id, handler);
  }

  /** Every provider answers well again, and nothing was asked. */
  reset(): void {
    this.called.length = 0;
    for (const [id, fake] of this.#fakes) {
      fake.seen.length = 0;
      this.on(id, wellBehaved(id));
    }
  }

  async stop(): Promise<void> {
    this.#odd.raw?.stop();
    this.#odd.deaf?.stop();
    for (const fake of this.#fakes.values()) await fake.stop();
  }
}

const copiesOf = (shape: string, copies: number): string[] =>
  Array.from({ length: copies }, (_, copy) => `${shape}/m${copy}`);

/** What a provider says when it behaves. */
export const textOf = (id: string): string => `Greetings from ${id}, which behaves.`;

export const upstreamModel = (provider: string, modelId: string): string => `${provider}-calls-it-${modelId}`;

/** What happens with one model, apart from all others: for tests that run at the same time. */
export class Scene {
  readonly model: string;
  /** Ids of the providers that were asked for this model, in order. */
  readonly called: string[] = [];
  readonly #handlers = new Map<string, ProviderHandler>();
  readonly #seen = new Map<string, SeenRequest[]>();

  constructor(model: string) {
    this.model = model;
  }

  on(id: string, handler: ProviderHandler): void {
    this.#handlers.set(id, handler);
  }

  seen(id: string): readonly SeenRequest[] {
    return this.#seen.get(id) ?? [];
  }

  /** Every provider answers well again, and nothing was asked. */
  reset(): void {
    this.#handlers.clear();
    this.#seen.clear();
    this.called.length = 0;
  }

  answer(id: string, ...[request, response]: Parameters<ProviderHandler>): void | Promise<void> {
    this.called.push(id);
    this.#seen.set(id, [...this.seen(id), request]);
    return (this.#handlers.get(id) ?? wellBehaved(id))(request, response);
  }
}

const wellBehaved = (id: string): ProviderHandler => answerChat({ ...usualTokens, content: textOf(id) });
