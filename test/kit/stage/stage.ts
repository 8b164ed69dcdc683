import type { CatalogFiles } from '../catalog.ts';
import type { FakeProvider, ProviderHandler, SeenRequest } from '../provider.ts';
import type { ScriptedProvider } from '../scripted-provider.ts';
import { type Service, type ServiceOptions, startService, type TestAccount } from '../service.ts';
import { settingsOf } from './features.ts';
import { StageProviders } from './providers.ts';
import type { RawServer } from './raw-server.ts';
import type { Scene } from './scene.ts';
import type { StageSpec } from './spec.ts';

/** The number of accounts and keys to create in advance, for tests that need their own. */
export interface Spares {
  readonly accounts?: number;
  readonly keys?: number;
}

/** The running service of a suite, with its providers. Use it only within tests and hooks. */
export class Stage<StandIns = unknown> {
  #spec: StageSpec<StandIns> | undefined;
  #providers: StageProviders | undefined;
  #service: Service | undefined;
  #account: TestAccount | undefined;
  #accounts: TestAccount[] = [];
  #keys: string[] = [];

  async start(
    spec: StageSpec<StandIns>,
    servers: Pick<ServiceOptions, 'planes' | 'databaseUrl' | 'redisUrl'>,
  ): Promise<void> {
    this.#spec = spec;
    this.#providers = await StageProviders.start(spec);
    const environment = { ...settingsOf(spec.features), ...spec.environment };
    this.#service = await startService({ ...spec, ...servers, ...this.#providers.files, environment });
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    await this.#providers?.stop();
    await this.#spec?.stop?.();
  }

  /** Creates `account`, and spare accounts and keys: all at once, because each takes a moment. */
  async createAccounts({ accounts = 0, keys = 0 }: Spares = {}): Promise<void> {
    const owned = this.service.createAccount({ usd: 1000 });
    const spare = Array.from({ length: accounts }, () => this.service.createAccount());
    this.#account = await owned;
    const spareKeys = Array.from({ length: keys }, () => this.service.createKey(this.account));
    this.#accounts = await Promise.all(spare);
    this.#keys = await Promise.all(spareKeys);
  }

  get service(): Service {
    return present(this.#service);
  }

  /** The servers and tools that the spec started besides providers. */
  get standIns(): StandIns {
    return present(this.#spec?.standIns);
  }

  /** This account has 1000 USD. It exists in suites with spares. */
  get account(): TestAccount {
    return present(this.#account);
  }

  /** Returns an account with 10 USD for one test. */
  spareAccount = (): TestAccount => present(this.#accounts.pop());

  /** Returns a key of `account` for one test. */
  spareKey = (): string => present(this.#keys.pop());

  get files(): CatalogFiles {
    return this.#all.files;
  }

  get modelIds(): readonly string[] {
    return this.#all.modelIds;
  }

  /** Ids of the fake providers that were asked since the last `reset`, in order. Scenes record their own. */
  get called(): string[] {
    return this.#all.called;
  }

  /** The number of requests that all fake providers received together. */
  get asked(): number {
    return this.#all.asked;
  }

  provider = (id: string): FakeProvider => this.#all.provider(id);
  scripted = (id: string): ScriptedProvider => this.#all.scripted(id);

  /** The provider of the kind `raw`. */
  get raw(): RawServer {
    return this.#all.raw;
  }

  /** Returns the last request that a provider received. Default: acme. */
  lastSeen = (id = 'acme'): SeenRequest => this.provider(id).seen.at(-1) ?? fail(`${id} was not asked`);

  /** Returns an unused model of a shape. */
  model = (shape: string): string => this.#all.model(shape);

  /** Like `model`, with providers that serve this model only. */
  scene = (shape: string): Scene => this.#all.scene(shape);

  /** Replaces the answers of a provider until the next `reset`. */
  on = (id: string, handler: ProviderHandler): void => this.#all.on(id, handler);

  /** Replaces the answers of several providers until the next `reset`. */
  onAll = (ids: readonly string[], handler: ProviderHandler): void => {
    for (const id of ids) this.on(id, handler);
  };

  /** Restores the usual answers of every provider and clears the recorded requests. */
  reset = (): void => this.#all.reset();

  get #all(): StageProviders {
    return present(this.#providers);
  }
}

const present = <T>(value: T | undefined): T =>
  value ?? fail('none: either outside of tests and hooks, or more spares are needed');

function fail(message: string): never {
  throw new Error(message);
}
