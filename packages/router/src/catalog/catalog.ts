import type { Price } from '@sotto/money';
import type { E2eeFamilyName, Operation, PricingAnswer, PrivacyClass } from '@sotto/wire';
import type { ChatParameter, RangedParameter } from '../parameters/parameter-names.ts';

export const modelTypes = ['text', 'embedding', 'image', 'tts'] as const;
export type ModelType = (typeof modelTypes)[number];

/** Model type by operation, one to one. */
export const modelTypeOf = {
  chat: 'text',
  embeddings: 'embedding',
  image: 'image',
  speech: 'tts',
} as const satisfies Record<Operation, ModelType>;

/** Capabilities of a route. A capability that the catalog omits is not offered. */
export interface RouteCapabilities {
  readonly tools: boolean;
  readonly vision: boolean;
  readonly structuredOutput: boolean;
  readonly reasoning?: { readonly efforts: readonly string[]; readonly canDisable: boolean };
}

/** One provider serving one model. */
export interface Route {
  /** `<model id>@<provider id>`: stable across catalogs. Penalties and measurements use it as a key. */
  readonly id: string;
  readonly modelId: string;
  /** The registry's id. Never shown for an unlisted provider. */
  readonly providerId: string;
  /** The id that users see and send: the provider's own, or `other` for an unlisted provider. */
  readonly publicProviderId: string;
  readonly upstreamModel: string;
  readonly privacyClass: PrivacyClass;
  readonly price: Price;
  /** The price as the catalog file writes it. */
  readonly pricing: PricingAnswer;
  readonly capabilities: RouteCapabilities;
  /** The parameters that the provider accepts. Undefined if the catalog does not list them: then everything is sent. */
  readonly supportedParameters: ReadonlySet<string> | undefined;
  /** The parameters that the provider's API does not have, whatever the catalog lists. */
  readonly missingParameters: ReadonlySet<ChatParameter>;
  /** The provider's limits for numbers. A value outside is moved to the nearest limit. */
  readonly parameterRanges: Readonly<
    Partial<Record<RangedParameter, { readonly min?: number | undefined; readonly max?: number | undefined }>>
  >;
  /**
   * Lists of parameters that the provider does not accept together. Of each list, the first that a request uses is
   * sent.
   */
  readonly exclusiveParameters: readonly (readonly ChatParameter[])[];
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** Position of the provider in the registry: the fixed order that breaks ties. */
  readonly rank: number;
  /** Whether the broker reaches the provider without TLS, in a private network. */
  readonly insecureHttp: boolean;
  /** The family of the provider's enclaves. Undefined if it has none. */
  readonly enclaveFamily: E2eeFamilyName | undefined;
}

export interface Model {
  readonly id: string;
  readonly name: string;
  readonly type: ModelType;
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** Whether `/auto` may choose it. */
  readonly auto: boolean;
  readonly routes: readonly Route[];
}

/** Everything the router knows about models: a catalog bound to a registry. */
export interface Catalog {
  /** Increases with every catalog that control publishes. */
  readonly version: number;
  /** SHA-256 of the catalog file, lower-case hex. */
  readonly digest: string;
  readonly models: ReadonlyMap<string, Model>;
}
