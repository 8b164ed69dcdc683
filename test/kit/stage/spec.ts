import type { PrivacyClass } from '@sotto/wire';
import type { Prices } from '../catalog.ts';
import type { ProviderHandler, SeenRequest } from '../provider.ts';
import type { ServiceOptions } from '../service.ts';
import type { Feature } from './features.ts';

/** The needs of a suite: the providers and models of its service, and the settings. The names of fields with `_` are those of the files. */
export interface StageSpec<StandIns = unknown>
  extends Pick<
    ServiceOptions,
    'environment' | 'brokerEnvironment' | 'controlEnvironment' | 'enclaves' | 'controlHost' | 'own'
  > {
  /** By id. */
  readonly providers?: Readonly<Record<string, ProviderSpec>>;
  /** By shape. Its models are `shape/m0`, `shape/m1` and so on, or only `shape` if there are no copies. */
  readonly models?: Readonly<Record<string, ModelSpec>>;
  /**
   * The number of models of each shape that does not say its own. Penalties outlive a test, so each test takes an unused
   * copy.
   */
  readonly copies?: number;
  /** Of text models that do not say their own. */
  readonly limits?: ModelLimits;
  /** If there is a list, images and speech that are not in it are off in every topology. */
  readonly features?: readonly Feature[];
  /** Returns the usual answer of a fake provider. Default: a chat completion with the text `textOf(id)`. */
  readonly answers?: (provider: string) => ProviderHandler;
  /** The other servers and tools that were started for these tests. */
  readonly standIns?: StandIns;
  /** Runs after the service and its providers have ended. */
  readonly stop?: () => Promise<unknown>;
}

/** A provider, with fields of its entry in PROVIDERS_FILE. */
export interface ProviderSpec {
  /** Default: `private`. */
  readonly privacy?: PrivacyClass;
  /**
   * `fake`, the default, answers as a test says, and `scripted` as the request says. `raw` sends the bytes of `Stage.raw`.
   * `absent` refuses connections, and `deaf` accepts none. A server that the test started is stopped with the others.
   */
  readonly server?: ServerKind | GivenServer;
  /** The id of another provider whose server this one shares. */
  readonly at?: string;
  /** Its API. Default: OpenAI's. */
  readonly dialect?: DialectSpec;
  /** The usual answer of a fake server, if not that of `StageSpec.answers`. */
  readonly answers?: ProviderHandler;
  readonly name?: string;
  readonly listed?: boolean;
  readonly timeouts?: Readonly<Record<string, number>>;
  readonly api_key_env?: string;
  readonly adapter?: string;
  readonly insecure_http?: boolean;
  /** Default for the classes `tee` and `e2ee`: the family `near`. */
  readonly attestation?: { readonly family: string; readonly measurements?: readonly unknown[] };
}

export interface DialectSpec {
  readonly adapter: string;
  /** The path of `base_url`. */
  readonly basePath: string;
  /** Returns the model of a request. Default: the field `model` of its body. */
  modelOf?(request: SeenRequest): string;
}

export type ServerKind = 'fake' | 'scripted' | 'raw' | 'absent' | 'deaf';

/** A running server. */
export interface GivenServer {
  readonly baseUrl: string;
  /** Its own name of its only model. */
  readonly upstreamModel?: string;
  stop?(): Promise<void>;
}

/** A model, with fields of its entry in CATALOG_FILE. */
export interface ModelSpec extends Partial<ModelLimits> {
  /** By provider, in the order of the catalog. */
  readonly routes: Readonly<Record<string, RouteSpec>>;
  /** Default: `text`. */
  readonly type?: 'text' | 'embedding' | 'image' | 'tts';
  readonly copies?: number;
  readonly name?: string;
  readonly supported_parameters?: readonly string[];
  readonly parameter_ranges?: object;
}

export interface ModelLimits {
  readonly context_length: number;
  readonly max_output_tokens: number;
}

/** USD per million tokens. */
export type TokenPrices = readonly [input: number, output: number];

/** The prices of a route, or all of it. */
export type RouteSpec = TokenPrices | DetailedRoute;

export interface DetailedRoute extends Partial<ModelLimits> {
  readonly pricing: TokenPrices | Prices;
  /** The provider's name of a model. Default: that of its server, or one with the ids of both. */
  readonly upstream?: string | ((model: string) => string);
  /** Default: that of its provider. */
  readonly privacy?: PrivacyClass;
  readonly capabilities?: object;
}
