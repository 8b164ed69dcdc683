import { freePort } from '@sotto/test-servers';
import { type CatalogFiles, filesOf, providerEntry } from '../catalog.ts';
import { type FakeProvider, type ProviderHandler, type SeenRequest, startProvider } from '../provider.ts';
import { type ScriptedProvider, startScriptedProvider } from '../scripted-provider.ts';
import { startDeafServer } from './deaf-server.ts';
import { modelsOf } from './models.ts';
import { type RawServer, startRawServer } from './raw-server.ts';
import { Scene } from './scene.ts';
import type { GivenServer, ProviderSpec, ServerKind, StageSpec } from './spec.ts';
import { usualAnswer } from './usual-answer.ts';

type Server = FakeProvider | ScriptedProvider | RawServer | GivenServer;

const start: Readonly<Record<ServerKind, (id: string) => Promise<Server>>> = {
  fake: () => startProvider(),
  scripted: (id) => startScriptedProvider(id),
  raw: startRawServer,
  deaf: startDeafServer,
  absent: async () => ({ baseUrl: `http://127.0.0.1:${await freePort()}/v1`, stop: async () => {} }),
};

/** The running providers of a stage, with the files that name them. */
export class StageProviders {
  readonly files: CatalogFiles;
  readonly modelIds: readonly string[];
  /** Ids of the fake providers that were asked since the last `reset`, in order. */
  readonly called: string[] = [];
  readonly #spec: StageSpec;
  readonly #servers: ReadonlyMap<string, Server>;
  readonly #unused: ReadonlyMap<string, string[]>;
  readonly #scenes = new Map<string, Scene>();
  /** By server and upstream name: the route. */
  readonly #routes = new Map<string, { readonly provider: string; readonly model: string }>();

  private constructor(spec: StageSpec, servers: ReadonlyMap<string, Server>) {
    this.#spec = spec;
    this.#servers = servers;
    const providers = Object.entries(spec.providers ?? {});
    const models = modelsOf(spec, (id) => servers.get(spec.providers?.[id]?.at ?? id));
    const copies = [...models.values()].flat();
    this.files = filesOf(
      providers.map(([id, provider]) => entryOf(id, provider, servers.get(provider.at ?? id))),
      copies.map(({ entry }) => entry),
    );
    this.modelIds = copies.map(({ id }) => id);
    this.#unused = new Map([...models].map(([shape, copies]) => [shape, copies.map(({ id }) => id)]));
    for (const { id: model, routes } of copies) {
      for (const { provider, upstream } of routes) {
        this.#routes.set(`${spec.providers?.[provider]?.at ?? provider} ${upstream}`, { provider, model });
      }
    }
    this.reset();
  }

  static async start(spec: StageSpec): Promise<StageProviders> {
    const own = Object.entries(spec.providers ?? {}).filter(([, { at }]) => at === undefined);
    const servers = await Promise.all(
      own.map(async ([id, { server = 'fake' }]) => {
        return [id, typeof server === 'string' ? await start[server](id) : server] as const;
      }),
    );
    return new StageProviders(spec, new Map(servers));
  }

  provider(id: string): FakeProvider {
    const server = this.#servers.get(id);
    if (server === undefined || !('answer' in server)) throw new Error(`there is no fake provider ${id}`);
    return server;
  }

  scripted(id: string): ScriptedProvider {
    const server = this.#servers.get(id);
    if (server === undefined || !('script' in server)) throw new Error(`there is no scripted provider ${id}`);
    return server;
  }

  get raw(): RawServer {
    const server = [...this.#servers.values()].find((server) => 'says' in server);
    if (server === undefined) throw new Error('there is no raw provider');
    return server;
  }

  /** The number of requests that all fake providers received together. */
  get asked(): number {
    return this.#fakes().reduce((sum, [, { seen }]) => sum + seen.length, 0);
  }

  model(shape: string): string {
    const id = this.#unused.get(shape)?.shift();
    if (id === undefined) throw new Error(`more copies of ${shape} are needed`);
    return id;
  }

  scene(shape: string): Scene {
    const scene = new Scene(this.model(shape), (id) => this.#usual(this.#spec.providers?.[id]?.at ?? id));
    this.#scenes.set(scene.model, scene);
    return scene;
  }

  on(id: string, handler: ProviderHandler): void {
    const modelOf = this.#spec.providers?.[id]?.dialect?.modelOf ?? (({ body }: SeenRequest) => String(body.model));
    this.provider(id).answer((request, response) => {
      const { provider = id, model = '' } = this.#routes.get(`${id} ${modelOf(request)}`) ?? {};
      const scene = this.#scenes.get(model);
      if (scene !== undefined) return scene.answer(provider, request, response);
      this.called.push(id);
      return handler(request, response);
    });
  }

  reset(): void {
    this.called.length = 0;
    for (const [id, { seen }] of this.#fakes()) {
      seen.length = 0;
      this.on(id, this.#usual(id));
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.stop?.()));
  }

  /** The usual answer of a server. */
  #usual(id: string): ProviderHandler {
    const server = this.#servers.get(id);
    if (server !== undefined && 'script' in server) return server.script;
    return this.#spec.providers?.[id]?.answers ?? (this.#spec.answers ?? usualAnswer)(id);
  }

  /** Every fake and scripted provider. */
  #fakes(): (readonly [id: string, FakeProvider])[] {
    return [...this.#servers].flatMap(([id, server]) => ('answer' in server ? [[id, server] as const] : []));
  }
}

function entryOf(id: string, spec: ProviderSpec, server: Server | undefined): object {
  const { privacy = 'private', server: _, at: __, answers: ___, dialect, ...fields } = spec;
  const baseUrl = server?.baseUrl ?? '';
  return providerEntry(id, dialect === undefined ? baseUrl : `${new URL(baseUrl).origin}${dialect.basePath}`, {
    privacy_class: privacy,
    ...(dialect === undefined ? {} : { adapter: dialect.adapter }),
    ...(privacy === 'tee' || privacy === 'e2ee' ? { attestation: { family: 'near' } } : {}),
    ...fields,
  });
}
