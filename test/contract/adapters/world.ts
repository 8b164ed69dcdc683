import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { anthropicDialect } from '../../kit/dialects/anthropic.ts';
import { bedrockDialect } from '../../kit/dialects/bedrock.ts';
import type { Asked, Dialect, Says } from '../../kit/dialects/dialect.ts';
import { googleDialect } from '../../kit/dialects/google.ts';
import { azureDialect, openAiDialect } from '../../kit/dialects/openai.ts';
import { type FakeProvider, type ProviderHandler, type SeenRequest, startProvider } from '../../kit/provider.ts';
import { send } from '../../kit/scenes/events.ts';

export const price = { input: 1, output: 4, cached_input: 0.25, cache_write: 1.25, reasoning: 4 } as const;
export const quick = { connect_ms: 300, first_byte_ms: 400, idle_ms: 500, total_ms: 2500 } as const;

/**
 * The routes of a model: its own provider alone, with a second provider as fallback, or the same with short time
 * limits.
 */
export type Shape = 'single' | 'pair' | 'quick' | 'quick-pair';
const shapes: Readonly<Record<Shape, (adapter: string) => readonly string[]>> = {
  single: (adapter) => [adapter],
  pair: (adapter) => [adapter, 'backup'],
  quick: (adapter) => [`${adapter}-quick`],
  'quick-pair': (adapter) => [`${adapter}-quick`, 'backup'],
};
/** Each test takes its own copy of a model, because penalties outlive a test. */
const copies: Readonly<Record<Shape, number>> = { single: 100, pair: 60, quick: 8, 'quick-pair': 4 };

export const usual: Says = { text: 'Well said, in these few words.', usage: { fresh: 12, output: 8 } };
export const backupText = 'The other one serves.';

/** Sets the behavior of one model's provider, independent of all others. */
export interface Scene {
  readonly model: string;
  readonly asked: SeenRequest[];
  handler: ProviderHandler;
}

/** A provider for every dialect, one that always serves, and the registry and catalog that name them. */
export class AdapterWorld {
  readonly registry: string;
  readonly catalog: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly #servers: readonly FakeProvider[];
  readonly #scenes: Map<string, Scene>;
  readonly #used = new Map<string, number>();

  private constructor(servers: readonly FakeProvider[], scenes: Map<string, Scene>) {
    this.#servers = servers;
    this.#scenes = scenes;
    const origin = (index: number): string => new URL(servers[index]?.baseUrl ?? '').origin;
    const provider = (id: string, dialect: Dialect, index: number, more: object = {}): object =>
      providerEntry(id, origin(index) + dialect.basePath, {
        adapter: dialect.adapter,
        api_key_env: keyName(dialect),
        ...more,
      });
    const own = dialects.flatMap((dialect, index) => [
      provider(dialect.adapter, dialect, index),
      provider(`${dialect.adapter}-quick`, dialect, index, { timeouts: quick }),
    ]);
    ({ registry: this.registry, catalog: this.catalog } = filesOf(
      [...own, providerEntry('backup', servers.at(-1)?.baseUrl)],
      dialects.flatMap((dialect) => modelsOf(dialect)),
    ));
    this.environment = Object.fromEntries(dialects.map((dialect) => [keyName(dialect), `key-of-${dialect.adapter}`]));
  }

  static async start(): Promise<AdapterWorld> {
    const scenes = new Map<string, Scene>();
    const servers: FakeProvider[] = [];
    for (const dialect of dialects) {
      servers.push(
        await startProvider((request, response) => {
          const scene = scenes.get(dialect.modelOf(request));
          if (scene === undefined) throw new Error(`nobody plays ${dialect.modelOf(request)}`);
          scene.asked.push(request);
          return scene.handler(request, response);
        }),
      );
    }
    const [openAi] = dialects;
    if (openAi === undefined) throw new Error('there are no dialects');
    servers.push(await startProvider(speaks(openAi, { ...usual, text: backupText })));
    return new AdapterWorld(servers, scenes);
  }

  /** Returns an unused model, and sets the behavior of its provider. */
  scene(dialect: Dialect, shape: Shape, handler: ProviderHandler): Scene {
    const name = `${dialect.adapter}/${shape}`;
    const copy = this.#used.get(name) ?? 0;
    if (copy >= copies[shape]) throw new Error(`more copies of ${shape} are needed`);
    this.#used.set(name, copy + 1);
    const scene = { model: `${name}-${copy}`, asked: [], handler };
    this.#scenes.set(upstreamName(dialect.adapter, scene.model), scene);
    return scene;
  }

  async stop(): Promise<void> {
    for (const server of this.#servers) await server.stop();
  }
}

const keyName = ({ adapter }: Dialect): string => `${adapter.toUpperCase()}_TEST_KEY`;

const prefixes = {
  openai: 'gpt-5-',
  azure: 'gpt-5-',
  anthropic: 'claude-opus-5-',
  google: 'gemini-3-pro-',
  bedrock: 'us.anthropic.claude-opus-5-',
} as const;

/**
 * Returns the provider's name of a model: it looks like the vendor's names and has characters that a path must escape.
 */
const upstreamName = (adapter: Dialect['adapter'], model: string): string =>
  `${prefixes[adapter]}${model.split('/')[1]}:v1`;

const modelsOf = ({ adapter }: Dialect): object[] =>
  (Object.keys(shapes) as Shape[]).flatMap((shape) =>
    Array.from({ length: copies[shape] }, (_, copy) => {
      const id = `${adapter}/${shape}-${copy}`;
      const capabilities = {
        tools: true,
        vision: true,
        structured_output: true,
        reasoning: { efforts: ['low', 'high'], can_disable: true },
      };
      const routes = shapes[shape](adapter).map((provider, place) =>
        routeEntry(provider, place === 0 ? price : { input: 5, output: 20 }, {
          upstream_model: upstreamName(adapter, id),
          capabilities,
        }),
      );
      return textModel(id, routes, { context_length: 100_000, max_output_tokens: 4000 });
    }),
  );

/** Answers whole or streamed, as requested. Reads the request as strictly as the vendor. */
export const speaks =
  (dialect: Dialect, says: Says | ((asked: Asked) => Says)): ProviderHandler =>
  async (request, response) => {
    let asked: Asked;
    try {
      asked = dialect.asked(request);
    } catch (error) {
      response.writeHead(418).end();
      throw error;
    }
    const said = typeof says === 'function' ? says(asked) : says;
    if (!asked.stream) {
      response.writeHead(200, { 'content-type': 'application/json', 'x-leak': 'LEAKED-WORDS' });
      response.end(JSON.stringify(dialect.whole(said)));
      return;
    }
    response.writeHead(200, { 'content-type': dialect.streamType, 'x-leak': 'LEAKED-WORDS' });
    const { head, pieces, tail } = dialect.stream(said);
    for (const piece of [...head, ...pieces, ...tail]) await send(response, piece);
    response.end();
  };

/** Every vendor for which there is a chat adapter. */
export const dialects: readonly Dialect[] = [
  openAiDialect,
  azureDialect,
  anthropicDialect,
  googleDialect,
  bedrockDialect,
];
