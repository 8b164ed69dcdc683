import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { dieTogether, freePort, listenOnLoopback } from '@sotto/test-servers';
import type { PrivacyClass } from '@sotto/wire';
import { filesOf, providerEntry, routeEntry, textModel } from '../catalog.ts';
import { answerChat, type FakeProvider, type ProviderHandler, type SeenRequest, startProvider } from '../provider.ts';

export interface ProviderSpec {
  readonly id: string;
  /** Default: `private`. */
  readonly privacy?: PrivacyClass;
  readonly listed?: boolean;
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly apiKeyEnv?: string;
  /**
   * `raw` sends the bytes of `World.raw`; `absent` refuses connections; `deaf` accepts none. Default: a fake provider.
   */
  readonly kind?: 'raw' | 'absent' | 'deaf';
}

/** USD per million tokens, input and output. */
type PriceSpec = readonly [number, number];

/** The route of a provider: its price, or more. */
type RouteSpec =
  | PriceSpec
  | {
      readonly price: PriceSpec;
      readonly capabilities?: object;
      readonly context?: number;
      readonly maxOutput?: number;
    };

export interface WorldSpec {
  readonly providers: readonly ProviderSpec[];
  /**
   * The routes of each model, by provider, in the order of the catalog. Each test takes an unused copy of a model,
   * because penalties outlive a test.
   */
  readonly shapes: Readonly<Record<string, Readonly<Record<string, RouteSpec>>>>;
  readonly copies?: number;
}

interface OddServers {
  readonly raw?: RawServer;
  readonly deaf?: DeafServer;
  readonly absent?: { readonly baseUrl: string };
}

/** The usage that every well-behaved provider here reports. */
const usualTokens = { promptTokens: 10, completionTokens: 20 };

/** Returns the cost of the usual answer at a price, in nano-USD. */
export const usualCost = ([input, output]: PriceSpec): bigint =>
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
    ({ registry: this.registry, catalog: this.catalog } = filesOf(
      spec.providers.map(({ id, privacy = 'private', listed = true, timeouts, apiKeyEnv, kind }) =>
        providerEntry(id, kind === undefined ? fakes.get(id)?.baseUrl : odd[kind]?.baseUrl, {
          privacy_class: privacy,
          listed,
          ...(timeouts === undefined ? {} : { timeouts }),
          ...(apiKeyEnv === undefined ? {} : { api_key_env: apiKeyEnv }),
          ...(privacy === 'tee' || privacy === 'e2ee' ? { attestation: { family: 'near' } } : {}),
        }),
      ),
      Object.entries(spec.shapes).flatMap(([shape, routes]) =>
        copiesOf(shape, this.#copies).map((id) => {
          const routesOf = Object.entries(routes).map(([provider, spec]) => {
            const { price, capabilities, context, maxOutput } = 'price' in spec ? spec : { price: spec };
            const [input, output] = price;
            const more = {
              upstream_model: upstreamModel(provider, id),
              privacy_class: privacyOf.get(provider),
              ...(capabilities === undefined ? {} : { capabilities }),
              ...(context === undefined ? {} : { context_length: context }),
              ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
            };
            return routeEntry(provider, { input, output }, more);
          });
          return textModel(id, routesOf, { context_length: 100_000, max_output_tokens: 4_000 });
        }),
      ),
    ));
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

  /** Returns an unused model of a shape. */
  model(shape: string): string {
    const copy = this.#used.get(shape) ?? 0;
    if (copy >= this.#copies) throw new Error(`more copies of ${shape} are needed`);
    this.#used.set(shape, copy + 1);
    return `${shape}/m${copy}`;
  }

  /** Like `model`, with providers that serve this model only. */
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

  /** Replaces the answers of a provider until the next `reset`. */
  on(id: string, handler: ProviderHandler): void {
    this.provider(id).answer((request, response) => {
      const scene = this.#scenes.get(String(request.body.model).replace(upstreamModel(id, ''), ''));
      if (scene !== undefined) return scene.answer(id, request, response);
      this.called.push(id);
      return handler(request, response);
    });
  }

  /** Sets the same answer for several providers. */
  onAll(ids: readonly string[], handler: ProviderHandler): void {
    for (const id of ids) this.on(id, handler);
  }

  /** Restores the normal answers of every provider and clears the recorded requests. */
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

/** The text of a provider's normal answer. */
export const textOf = (id: string): string => `Greetings from ${id}, which behaves.`;

export const upstreamModel = (provider: string, modelId: string): string => `${provider}-calls-it-${modelId}`;

/** Controls and records the providers of one model, independent of all others, for tests that run at the same time. */
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

  /** Restores the normal answers of every provider and clears the recorded requests. */
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

/** A server that answers every connection with given bytes, whatever the request. */
interface RawServer {
  readonly baseUrl: string;
  /** Replaces the answer from now on. With `end` the server then closes the connection. */
  says(pieces: readonly string[], end: boolean): void;
  stop(): void;
}

async function startRawServer(): Promise<RawServer> {
  let said: readonly string[] = [];
  let ends = true;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const piece of said) socket.write(piece, 'latin1');
      if (ends) socket.end();
    });
  });
  return {
    baseUrl: `http://127.0.0.1:${await listenOnLoopback(server)}/v1`,
    says(pieces, end) {
      said = pieces;
      ends = end;
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An address that accepts no connection: its queue is full, and its process is stopped. */
interface DeafServer {
  readonly baseUrl: string;
  stop(): void;
}

const listening = `const server = require('node:net').createServer();
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port));`;

async function startDeafServer(): Promise<DeafServer> {
  const child: ChildProcess = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'ignore'] });
  if (child.pid !== undefined) child.once('exit', dieTogether(child.pid));
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const sockets: Socket[] = [];
  for (let full = false; !full; ) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
    full = await Promise.race([
      once(socket, 'connect').then(() => false),
      new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 200)),
    ]);
  }
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    stop() {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
