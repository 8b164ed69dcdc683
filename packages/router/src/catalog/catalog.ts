import type { Price } from '@sotto/money';
import type { Operation, PricingAnswer, PrivacyClass } from '@sotto/wire';
import type { ChatParameter, RangedParameter } from '../parameters/parameter-names.ts';

export const modelTypes = ['text', 'embedding', 'image', 'tts'] as const;
export type ModelType = (typeof modelTypes)[number];

/** The type of the models that serve an operation; each type serves one. */
export const modelTypeOf = {
  chat: 'text',
  embeddings: 'embedding',
  image: 'image',
  speech: 'tts',
} as const satisfies Record<Operation, ModelType>;

/** What a route offers; what the catalog leaves out is not offered. */
export interface RouteCapabilities {
  readonly tools: boolean;
  readonly vision: boolean;
  readonly structuredOutput: boolean;
  readonly reasoning?: { readonly efforts: readonly string[]; readonly canDisable: boolean };
}

/** One provider serving one model. */
export interface Route {
  /** `<model id>@<provider id>`: stable across catalogs; key of penalties and measurements. */
  readonly id: string;
  readonly modelId: string;
  /** The registry's id, never shown for an unlisted provider. */
  readonly providerId: string;
  /** The id users see and name: the provider's own, or `other` where it is not listed. */
  readonly publicProviderId: string;
  readonly upstreamModel: string;
  readonly privacyClass: PrivacyClass;
  readonly price: Price;
  /** The price as the catalog file writes it. */
  readonly pricing: PricingAnswer;
  readonly capabilities: RouteCapabilities;
  /** The parameters that the provider takes; undefined: the catalog does not say, and everything is sent. */
  readonly supportedParameters: ReadonlySet<string> | undefined;
  /** Bounds that the provider sets to numbers; a value outside is brought inside. */
  readonly parameterRanges: Readonly<
    Partial<Record<RangedParameter, { readonly min?: number | undefined; readonly max?: number | undefined }>>
  >;
  /** Lists of parameters of which the provider takes one at a time: the first that a request uses. */
  readonly exclusiveParameters: readonly (readonly ChatParameter[])[];
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  /** Position of the provider in the registry: the fixed order that breaks ties. */
  readonly rank: number;
}

export interface Model {
  readonly id: string;
  readonly name: string;
  readonly type: ModelType;
  readonly contextLength: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly routes: readonly Route[];
}

/** Everything the router knows of models: a catalog bound to a registry. */
export interface Catalog {
  /** Rises with every catalog that control puts in force. */
  readonly version: number;
  /** SHA-256 of the catalog file, lower-case hex. */
  readonly digest: string;
  readonly models: ReadonlyMap<string, Model>;
}
