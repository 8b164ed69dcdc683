import type { Price } from '@sotto/money';
import type { Operation, PricingAnswer, PrivacyClass } from '@sotto/wire';

export type ModelType = 'text' | 'embedding' | 'image' | 'tts';

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
