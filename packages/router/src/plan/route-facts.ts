import { comparablePrice, cost, noUsage, type Price, type Usage } from '@sotto/money';
import { comparePrivacy, type PrivacyClass } from '@sotto/wire';
import type { Model, Route, RouteCapabilities } from '../catalog/catalog.ts';
import { baseProviderId } from '../catalog/provider-id.ts';
import type { Needs } from './needs.ts';

/**
 * The request by which the sort Default compares prices. It has three prompt tokens, one of them cached, for each
 * completion token (docs/concepts/routing.md). Images and speech have units of their own, so one request covers all
 * kinds.
 */
const typicalRequest: Usage = {
  ...noUsage,
  promptTokens: 3000,
  cachedTokens: 1000,
  completionTokens: 1000,
  images: 1,
  inputCharacters: 1000,
};

/** The cost of a typical request, in nano-USD. At least one, so that free routes still compare by speed and success. */
const expectedCost = (price: Price): number => Math.max(1, Number(cost(typicalRequest, price)));

/** Constant facts about a route that planning uses often, computed once. */
export interface RouteFacts {
  readonly route: Route;
  /** Its privacy class as a number: 0 is the weakest. */
  readonly strength: number;
  /** Its public provider id. */
  readonly provider: string;
  /** The provider that it is a variant of. Equals `provider` if it is not a variant. */
  readonly baseProvider: string;
  /** Its capabilities as bits, see `offerBits`. */
  readonly offers: number;
  /** `comparablePrice`, in pico-USD. */
  readonly price: number;
  /** Its base prices, in pico-USD per token. */
  readonly input: number;
  readonly output: number;
  /** Whether other prices apply above some prompt size. */
  readonly hasTiers: boolean;
  /** The cost of a typical request, in nano-USD. */
  readonly cost: number;
}

/** How strong a privacy class is, from 0. */
export const strengthOf = (privacyClass: PrivacyClass): number => comparePrivacy(privacyClass, 'anonymous');

/** Capabilities that a request may require, one bit each. */
export const offerBits = ({
  tools,
  vision,
  structuredOutput,
}: Pick<RouteCapabilities & Needs, 'tools' | 'vision' | 'structuredOutput'>): number =>
  (tools ? 1 : 0) | (vision ? 2 : 0) | (structuredOutput ? 4 : 0);

export const factsOf = (route: Route): RouteFacts => ({
  route,
  strength: strengthOf(route.privacyClass),
  provider: route.publicProviderId,
  baseProvider: baseProviderId(route.publicProviderId),
  offers: offerBits(route.capabilities),
  price: comparablePrice(route.price),
  input: route.price.input,
  output: route.price.output,
  hasTiers: route.price.tiers !== undefined,
  cost: expectedCost(route.price),
});

const known = new WeakMap<Model, readonly RouteFacts[]>();

/** The facts of a model's routes, in the model's order. */
export function modelFacts(model: Model): readonly RouteFacts[] {
  const found = known.get(model);
  if (found !== undefined) return found;
  const facts = model.routes.map(factsOf);
  known.set(model, facts);
  return facts;
}
