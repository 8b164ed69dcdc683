import { comparablePrice } from '@sotto/money';
import { comparePrivacy, type PrivacyClass } from '@sotto/wire';
import type { Model, Route, RouteCapabilities } from '../catalog/catalog.ts';
import { baseProviderId } from '../catalog/provider-id.ts';
import type { Needs } from './needs.ts';
import { expectedCost } from './typical-request.ts';

/** What planning asks of a route time and again and what never changes, worked out once. */
export interface RouteFacts {
  readonly route: Route;
  /** Its privacy class as a number: 0 is the weakest. */
  readonly strength: number;
  /** Its public provider id. */
  readonly provider: string;
  /** The provider that it is a variant of; `provider` itself where it is none. */
  readonly baseProvider: string;
  /** Its capabilities as bits, see `offerBits`. */
  readonly offers: number;
  /** `comparablePrice`, in pico-USD. */
  readonly price: number;
  /** Its base prices, in pico-USD per token. */
  readonly input: number;
  readonly output: number;
  /** Above a prompt size other prices hold. */
  readonly hasTiers: boolean;
  /** What a typical request costs, in nano-USD. */
  readonly cost: number;
}

/** How strong a privacy class is, from 0. */
export const strengthOf = (privacyClass: PrivacyClass): number => comparePrivacy(privacyClass, 'anonymous');

/** Capabilities that a request may be unable to do without, one bit each. */
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
